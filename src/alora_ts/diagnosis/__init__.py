"""What the user gets back: a Diagnosis with its incidents and culprits."""

from alora_ts.diagnosis.diagnosis import Diagnosis
from alora_ts.diagnosis.incident import Culprit, Incident, Origin
from alora_ts.diagnosis.localization import localize
from alora_ts.diagnosis.reading import Reading

__all__ = ["Culprit", "Diagnosis", "Incident", "Origin", "Reading", "localize"]
