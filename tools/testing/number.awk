# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# TAP whose tests have no numbers gets them, and its plan. Fails if a test has.

/^(not )?ok - / { sub(/ok/, "ok " ++n) }
{ print; fflush() }
/^not/ { failed = 1 }
END { print "1.." n; exit failed }
