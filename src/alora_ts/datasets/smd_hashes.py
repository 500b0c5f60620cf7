"""SHA-256 of the official SMD files that were available when this list was made."""

from __future__ import annotations

__all__ = ["HASHES"]

_BY_FOLDER = {
    "train": {
        "machine-1-2.txt": "7f6f63ec34ce616c87b4c30d66fd52ad1b21149634ae3ff7bb1827a76d6ef79a",
        "machine-1-3.txt": "a4ef16a49d921e0ba9497ce2690d3833eb4a85f9a8a88392de4c3fde42e413ac",
        "machine-1-4.txt": "2ec56c43f91684aa4751a6b72d359669266712dd69bdc7efda3dc60c0ade1156",
        "machine-1-5.txt": "69061055f43413863434cb9c0424c14b13a7a0817056a8fd9439e53dc365fc0b",
        "machine-1-6.txt": "27e1765c04c2a5d08f39d98e7979e7764886fc733c36382fe081157a5ac0b9d8",
        "machine-1-7.txt": "dddb9f770bdb8b1b952263e0cc4f000b6f8ec612941dd3eb7a303994f257edf8",
        "machine-1-8.txt": "3b46e9754ec06bebd0bf3fe68dbe28b2a4b67298e795c9501d97f42083e337fc",
    },
    "test": {
        "machine-1-2.txt": "f409991af7c049d3f286a8cf89dc2fa99114bea8753f6c3aea4bd24cb03eb015",
        "machine-1-3.txt": "f3c134d45ffa7aed66587dba893111396c8c7ea3b6fa7f76895955b26b1a75ef",
        "machine-1-4.txt": "98ade00e57eac63e8f81a506a8e848803b58590835ab2b3cf53d1f0459900bd3",
        "machine-1-5.txt": "98b8979f21b4b68c7308f38dd093b9bff4275814578365103c692f28f60f61c5",
        "machine-1-6.txt": "0797fe4bfd25ef13c830955cb9f2a36b4c9d5da265b8e91702408b6b048267f4",
        "machine-1-7.txt": "785a3f542ef6ac171a3af55c534f9ca598d53fa0371010172c72e33af4588d16",
        "machine-1-8.txt": "b8784c3b4169f8a0a2ed9f47b00070d72ed214dae0307553b8cfdb80c712d779",
    },
    "test_label": {
        "machine-1-2.txt": "c2dbb3e4f89c9eb48f30fd1ddae48b80e7ae7ad7ca9abf2ffd71b6557ef2bb20",
        "machine-1-3.txt": "755d57179625682172ae85f9483749cff576ff3282d0af294271a40ab6ea7b28",
        "machine-1-4.txt": "a470a3f7b66ec3d080fc5ee3d9565e0f3bfcfa16a1650259f771736327fa9a8b",
        "machine-1-5.txt": "e7e2e611e12b5e9e2558ed955ad271f1f408fbdd7fbbfdfc72eb745ade567815",
        "machine-1-6.txt": "8359ffa67b5421b0b9967ccf396a58c7b3bf52fa24c3f95e6b9df6486f1d6365",
        "machine-1-7.txt": "24b3ce00bf2c56b571775a2b28d4e50ed27d050d77a031fa16c11ef3e51809b8",
        "machine-1-8.txt": "8019476032c4c5b4b80127cfb9e74ee7d57fbbd558aa15097518713e16463a47",
    },
    "interpretation_label": {
        "machine-1-2.txt": "761b4b339a14d4781f34a3cd03fb3d983b01e3bece3f638fa21bb887128d3a11",
        "machine-1-3.txt": "dbe9970c43e64445b89211f26eb13f0eccb4da869deaea298218d7c094672c8f",
        "machine-1-4.txt": "25978fb0b28261b327a6a50e21ec0c7a232b6a2ad796b1a023b7bfc3d3c19c8a",
        "machine-1-5.txt": "c3ab9437aeb07763bba39298dc99905a9365f27f441411d979a9bb66e26a53e9",
        "machine-1-6.txt": "2cc68339b99fbf9ec0891c2a081c2d05ee04087a766d6200572fc74e99867f8f",
        "machine-1-7.txt": "3a272c538dce66358e9d8f7c18f62f14c652ffb1e52dfc18464cd092860a363b",
        "machine-1-8.txt": "0908b5d09296f8379a70c055fdf7e5ebd5f19419e886eab7fca0c766512187ae",
    },
}
HASHES = {
    f"{folder}/{file}": digest
    for folder, digests in _BY_FOLDER.items()
    for file, digest in digests.items()
}
