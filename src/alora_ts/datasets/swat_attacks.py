"""The 36 physical attacks on SWaT of December 2015, as its makers list them.

The list numbers 41 attacks; 5, 9, 12, 15 and 18 had no physical effect and carry no times. The
list's DIT-301 is the column DPIT301. MV504 (attack 4) was attacked and is not recorded.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np

from alora_ts.datasets.attacks import Attack

__all__ = ["ATTACKS"]

_LIST = """
1  28/12/2015 10:29:14 10:44:53 MV101
2  28/12/2015 10:51:08 10:58:30 P102
3  28/12/2015 11:22:00 11:28:22 LIT101
4  28/12/2015 11:47:39 11:54:08 MV504
6  28/12/2015 12:00:55 12:04:10 AIT202
7  28/12/2015 12:08:25 12:15:33 LIT301
8  28/12/2015 13:10:10 13:26:13 DPIT301
10 28/12/2015 14:16:20 14:19:00 FIT401
11 28/12/2015 14:19:00 14:28:20 FIT401
13 29/12/2015 11:11:25 11:15:17 MV304
14 29/12/2015 11:35:40 11:42:50 MV303
16 29/12/2015 11:57:25 12:02:00 LIT301
17 29/12/2015 14:38:12 14:50:08 MV303
19 29/12/2015 18:10:43 18:15:01 AIT504
20 29/12/2015 18:15:43 18:22:17 AIT504
21 29/12/2015 18:30:00 18:42:00 MV101 LIT101
22 29/12/2015 22:55:18 23:03:00 UV401 AIT502 P501
23 30/12/2015 01:42:34 01:54:10 P602 DPIT301 MV302
24 30/12/2015 09:51:08 09:56:28 P203 P205
25 30/12/2015 10:01:50 10:12:01 LIT401 P401
26 30/12/2015 17:04:56 17:29:00 P101 LIT301
27 31/12/2015 01:17:08 01:45:18 P302 LIT401
28 31/12/2015 01:45:19 11:15:27 P302
29 31/12/2015 15:32:00 15:34:00 P201 P203 P205
30 31/12/2015 15:47:40 16:07:10 LIT101 P101 MV201
31 31/12/2015 22:05:34 22:11:40 LIT401
32 01/01/2016 10:36:00 10:46:00 LIT301
33 01/01/2016 14:21:12 14:28:35 LIT101
34 01/01/2016 17:12:40 17:14:20 P101
35 01/01/2016 17:18:56 17:26:56 P101 P102
36 01/01/2016 22:16:01 22:25:00 LIT101
37 02/01/2016 11:17:02 11:24:50 P501 FIT502
38 02/01/2016 11:31:38 11:36:18 AIT402 AIT502
39 02/01/2016 11:43:48 11:50:28 FIT401 AIT502
40 02/01/2016 11:51:42 11:56:38 FIT401
41 02/01/2016 13:13:02 13:40:56 LIT301
"""


def _attack(line: str) -> Attack:
    name, day, start, end, *points = line.split()
    first, last = (
        np.datetime64(datetime.strptime(f"{day} {clock}", "%d/%m/%Y %H:%M:%S"), "us")
        for clock in (start, end)
    )
    return Attack(name, first, last, tuple(points))


ATTACKS = tuple(_attack(line) for line in _LIST.strip().splitlines())
