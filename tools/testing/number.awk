# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Numbers the tests of TAP without numbers, and adds the plan. It fails if a test has
# failed.

/^(not )?ok - / { sub(/ok/, "ok " ++n) }
{ print; fflush() }
/^not/ { failed = 1 }
END { print "1.." n; exit failed }
