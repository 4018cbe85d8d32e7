# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Numbers the tests of TAP that has no numbers, and adds the plan. Its status is that of
# the tests: it fails if one has failed.

/^(not )?ok - / { sub(/ok/, "ok " ++n) }
{ print; fflush() }
/^not/ { failed = 1 }
END { print "1.." n; exit failed }
