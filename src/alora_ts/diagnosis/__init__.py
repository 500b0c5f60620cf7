"""What the user gets back: a Diagnosis with its incidents and culprits."""
