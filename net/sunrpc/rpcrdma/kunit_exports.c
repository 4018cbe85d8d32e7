// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Exports the functions that rpcrdma_kunit.ko calls. On a kernel without KUnit it exports
 * nothing. C++ files cannot export functions, since genksyms can only read C.
 */
#include <kunit/visibility.h>

#include <rpcrdma/crypto.h>
#include <rpcrdma/recent.h>
#include <rpcrdma/rtrext.h>
#include <rpcrdma/xcharext.h>

#include "auth.h"
#include "budget.h"
#include "client/client.h"
#include "netlink.h"
#include "server/call.h"
#include "verbs/dma.h"

#if IS_ENABLED(CONFIG_KUNIT)
int (*rpcrdma_dma_tested)(struct scatterlist *list, int count);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_dma_tested);
#endif

EXPORT_SYMBOL_IF_KUNIT(rpcrdma_plan_call);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_recent_bit);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_each_part);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_get_directions);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_plan);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_plan_reply);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_read);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_shape);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_admit);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_init);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_info);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_next_send);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_ready);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_receive);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_release);

EXPORT_SYMBOL_IF_KUNIT(rpcrdma_account_open);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_recv_memory);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_call);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_close);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_charge);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_info);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_limit);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_uncharge);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_short);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_memory_take);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_reserve);

EXPORT_SYMBOL_IF_KUNIT(rpcrdma_auth_decoy);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_auth_find_key);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_auth_keyring);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_auth_limited);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_auth_note_refused);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_crypto_init);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_auth);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_session_auth_key);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_shim_hmac_sha256);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_shim_same);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_shim_sha256);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_shim_wipe);

EXPORT_SYMBOL_IF_KUNIT(rpcrdma_bc_abandon);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_bc_call);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_bc_destroy);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_bc_setup);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_client_payload);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_cancel);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_create);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_destroy);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_end_call);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_ending);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_fault);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_find);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_fit);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_hurry);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_job);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_lost);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_lost_later);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_agreed);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_reach);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_up);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_next);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_pump);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_recv_again);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_recv_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_refuse);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_send);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_send_planned);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_wait_sent);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_set_window);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_conn_call_refused);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_credit_wait);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_credit_waited);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_fill_sparse);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_forget_silent);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_frwr_chain);
EXPORT_SYMBOL_IF_KUNIT(__rpcrdma_frwr_invalidate);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_frwr_invalidate_wait);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_frwr_map);
EXPORT_SYMBOL_IF_KUNIT(__rpcrdma_frwr_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_frwr_remote_inv);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_frwr_short);
EXPORT_SYMBOL_IF_KUNIT(__rpcrdma_frwr_undo);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_nl_conn_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_nl_conn_size);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_live);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_note_silent);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_type_count);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_recv_limit);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_recv_swap);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_resize_kick);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_resize_wish);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtr_lead_type);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtrext);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_rtrext_offer);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_send_stop);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_spare_get);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_spare_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_silent);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_client_cm_event);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_disconnect);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_wait_for_reply);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_xchar_fix);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_xchar_info);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_reply_external);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_reply_group_keep);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_reply_group_take);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_req_plan_group);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_req_plan_offer);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_reply_place);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_release_xprt);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_reserve_xprt);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_send_spare);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_spares_free);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_grow);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_window);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_window_change);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_stats_resize_windows);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_abandon);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_call_alloc);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_device_init);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_drop_calls);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_failed_answer);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_fault);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_has_wspace);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_payload);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_read_queue);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_recvfrom);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_release_ctxt);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_reply_put);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_reply_take);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_resume_init);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_resume_soon);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_alloc);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_chain);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_free);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_none);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_only);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_pages);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_rw_xdr);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_replies_charged);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_sendto);
EXPORT_SYMBOL_IF_KUNIT(rpcrdma_svc_shut);
