# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause

# In the background, as many at a time as there are processors.
beside() { # COMMAND...
	while (($(jobs -rp | wc -l) >= $(nproc))); do
		wait -n
	done
	"$@" &
}
