/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The limits that adapters report.
 *
 * Figures are those of the drivers in Linux 6.12, below drivers/infiniband unless said
 * otherwise; the functions that fill in struct ib_device_attr are named in front of each.
 * A value that a driver gets from its firmware is marked "firmware", with the value that
 * somebody has seen, or "assumed" if no report was found. page_size is that of the user
 * of the table. Each row has all figures, even if another differs in few, so that it can be
 * compared with its driver alone.
 *
 * local_inv is what the driver's function that posts to the send queue takes.
 *
 * Of the kernel's flags only IBK_SG_GAPS_REG is here. The module looks at no other: ib_core
 * makes a key for local memory where a device has none (IBK_LOCAL_DMA_LKEY).
 *
 * For the unit tests, and for the module that makes rxe look like one of these adapters.
 */
#ifndef _RPCRDMA_TESTING_ADAPTERS_H
#define _RPCRDMA_TESTING_ADAPTERS_H

#include <rpcrdma/sizes.h>

/**
 * struct rpcrdma_adapter - one kind of adapter
 * @name: of the driver, and of the kind if it has several
 * @limits: what it says
 * @sg_gaps: IBK_SG_GAPS_REG: its regions take memory with gaps
 */
struct rpcrdma_adapter {
	const char *name;
	struct rpcrdma_device_limits limits;
	bool sg_gaps;
};

#ifdef __cplusplus
constexpr
#else
static const
#endif
struct rpcrdma_adapter rpcrdma_adapters[] = {
	/*
	 * mlx5_ib_query_device() of hw/mlx5/main.c. Firmware: general capabilities of a
	 * ConnectX-6 Dx in the README of the tool mlx5ctl.
	 */
	{
		.name = "mlx5",
		.limits = {
			/* max_wqe_sz_sq 1024, of which 512 count, less 32, in 16s */
			.max_send_sge = 30,
			/* max_wqe_sz_rq 512, in 16s */
			.max_recv_sge = 32,
			/* MLX5_MAX_SGE_RD of include/linux/mlx5/device.h */
			.max_sge_rd = 30,
			/* firmware: max_sgl_for_optimized_performance 3 */
			.max_sgl_rd = 3,
			/*
			 * mlx5_ib_calc_max_qp_wr(): firmware: log_max_qp_sz 15, of 64
			 * octets, for 256 of each. Older drivers say 32768.
			 */
			.max_qp_wr = 8192,
			/* firmware: log_max_cq_sz 22 */
			.max_cqe = 4194303,
			/* firmware: log_max_mkey 24 */
			.max_mr = 16777216,
			/* firmware: log_max_klm_list_size 16 */
			.max_fast_reg_pages = 65536,
			/* firmware: log_max_ra_req_qp 4, log_max_ra_res_qp 4 */
			.max_reads_in = 16,
			.max_reads_out = 16,
			/* firmware: umr_modify_entity_size_disabled 0 */
			.fast_reg = true,
			.local_inv = true,
		},
		/* firmware: imaicl 1 */
		.sg_gaps = true,
	},
	/*
	 * mlx4_ib_query_device() of hw/mlx4/main.c. Firmware: ibv_devinfo -v of a
	 * ConnectX-3 in issue 5 of claudebarthels/infinity on GitHub.
	 */
	{
		.name = "mlx4",
		.limits = {
			/* firmware: dev_cap->max_sq_sg, dev_cap->max_rq_sg */
			.max_send_sge = 32,
			.max_recv_sge = 32,
			/* MLX4_MAX_SGE_RD of include/linux/mlx4/device.h */
			.max_sge_rd = 30,
			/* firmware: dev_cap->max_qp_sz 16384; MLX4_IB_SQ_MAX_SPARE */
			.max_qp_wr = 16351,
			/* firmware: dev_cap->max_cq_sz */
			.max_cqe = 4194303,
			/* default_profile.num_mpt of net/ethernet/mellanox/mlx4/main.c */
			.max_mr = 524032,
			/* MLX4_MAX_FAST_REG_PAGES of include/linux/mlx4/device.h */
			.max_fast_reg_pages = 511,
			/* default_profile.rdmarc_per_qp; dev_cap->max_requester_per_qp */
			.max_reads_in = 16,
			.max_reads_out = 128,
			/* firmware: MLX4_BMME_FLAG_LOCAL_INV and others */
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/* irdma_query_device() of hw/irdma/verbs.c: E810, which is RoCE by default. */
	{
		.name = "irdma",
		.limits = {
			/* IRDMA_MAX_WQ_FRAGMENT_COUNT, IRDMA_MAX_SGE_RD of user.h */
			.max_send_sge = 13,
			.max_recv_sge = 13,
			.max_sge_rd = 13,
			/* IRDMA_MAX_QP_WRS(IRDMA_MAX_QUANTA_PER_WR) of defs.h */
			.max_qp_wr = 4063,
			/* IRDMA_MAX_CQ_SIZE of user.h, less one */
			.max_cqe = 1048574,
			/* firmware: hmc_obj[IRDMA_HMC_IW_MR]; assumed */
			.max_mr = 4096,
			/* IRDMA_MAX_PAGES_PER_FMR of main.h */
			.max_fast_reg_pages = 262144,
			/* ICRDMA_MAX_IRD_SIZE, ICRDMA_MAX_ORD_SIZE of icrdma_hw.h */
			.max_reads_in = 127,
			.max_reads_out = 255,
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/* The same function, with what hw/irdma/i40iw_hw.c sets: X722. */
	{
		.name = "irdma-x722",
		.limits = {
			/* I40IW_MAX_WQ_FRAGMENT_COUNT, I40IW_MAX_SGE_RD of i40iw_hw.h */
			.max_send_sge = 3,
			.max_recv_sge = 3,
			.max_sge_rd = 1,
			/* I40IW_MAX_QP_WRS of i40iw_hw.h */
			.max_qp_wr = 895,
			/* I40IW_MAX_CQ_SIZE of i40iw_hw.h, less one */
			.max_cqe = 1048574,
			/* firmware: hmc_obj[IRDMA_HMC_IW_MR]; assumed */
			.max_mr = 4096,
			/* IRDMA_MAX_PAGES_PER_FMR of main.h */
			.max_fast_reg_pages = 262144,
			/* I40IW_MAX_IRD_SIZE, I40IW_MAX_ORD_SIZE of i40iw_hw.h */
			.max_reads_in = 63,
			.max_reads_out = 127,
			.fast_reg = true,
			.local_inv = true,
			.iwarp = true,
		},
	},
	/*
	 * bnxt_re_query_device() of hw/bnxt_re/ib_verbs.c, bnxt_qplib_get_dev_attr() of
	 * qplib_sp.c: Work Requests of one size, up to the P5 generation.
	 */
	{
		.name = "bnxt_re",
		.limits = {
			/* the constant for that mode */
			.max_send_sge = 6,
			.max_recv_sge = 6,
			.max_sge_rd = 6,
			/* firmware: max_qp_wr; assumed, it has 16 bits */
			.max_qp_wr = 8191,
			/* firmware; at most BNXT_QPLIB_MAX_CQ_WQES of qplib_sp.h */
			.max_cqe = 1048575,
			/* firmware; used are BNXT_RE_MAX_MRW_COUNT_256K of bnxt_re.h */
			.max_mr = 262144,
			/* MAX_PBL_LVL_1_PGS of qplib_res.h */
			.max_fast_reg_pages = 512,
			/* firmware; at most BNXT_QPLIB_MAX_OUT_RD_ATOM of qplib_sp.h */
			.max_reads_in = 126,
			.max_reads_out = 126,
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/* The same with Work Requests of various sizes: P7. */
	{
		.name = "bnxt_re-p7",
		.limits = {
			/* firmware; at most BNXT_VAR_MAX_SGE of qplib_sp.h */
			.max_send_sge = 13,
			.max_recv_sge = 13,
			.max_sge_rd = 13,
			/* BNXT_VAR_MAX_WQE of qplib_sp.h, less one */
			.max_qp_wr = 4351,
			/* firmware; assumed */
			.max_cqe = 1048575,
			/* firmware; used are BNXT_RE_MAX_MRW_COUNT_256K of bnxt_re.h */
			.max_mr = 262144,
			/* MAX_PBL_LVL_1_PGS of qplib_res.h */
			.max_fast_reg_pages = 512,
			/* firmware; at most BNXT_QPLIB_MAX_OUT_RD_ATOM of qplib_sp.h */
			.max_reads_in = 126,
			.max_reads_out = 126,
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/* c4iw_query_device() of hw/cxgb4/provider.c: T4 to T6. */
	{
		.name = "cxgb4",
		.limits = {
			/* T4_MAX_SEND_SGE, T4_MAX_WRITE_SGE of t4.h: (320 - 40) / 16 */
			.max_send_sge = 17,
			/* T4_MAX_RECV_SGE of t4.h */
			.max_recv_sge = 4,
			/* a constant there */
			.max_sge_rd = 1,
			/*
			 * t4_max_qp_depth of device.c: 8192, less one, less what the
			 * adapter's status takes; assumed: two entries
			 */
			.max_qp_wr = 8189,
			/* t4_max_cq_depth of device.c */
			.max_cqe = 65518,
			/* firmware: c4iw_num_stags() of iw_cxgb4.h; assumed */
			.max_mr = 4096,
			/* T4_MAX_FR_DSGL_DEPTH of t4.h */
			.max_fast_reg_pages = 128,
			/* c4iw_max_read_depth of cm.c; firmware may have less */
			.max_reads_in = 32,
			.max_reads_out = 32,
			/* fastreg_support of mem.c, on by default */
			.fast_reg = true,
			.local_inv = true,
			.iwarp = true,
		},
	},
	/* The same with the parameter use_dsgl=0, or where firmware has no such writes. */
	{
		.name = "cxgb4-immd",
		.limits = {
			.max_send_sge = 17,
			.max_recv_sge = 4,
			.max_sge_rd = 1,
			.max_qp_wr = 8189,
			.max_cqe = 65518,
			.max_mr = 4096,
			/* T4_MAX_FR_IMMD_DEPTH of t4.h: 256 octets of addresses */
			.max_fast_reg_pages = 32,
			.max_reads_in = 32,
			.max_reads_out = 32,
			.fast_reg = true,
			.local_inv = true,
			.iwarp = true,
		},
	},
	/*
	 * qedr_query_device() of hw/qedr/verbs.c, qedr_set_device_attr() of main.c,
	 * qed_rdma_init_devinfo() of net/ethernet/qlogic/qed/qed_rdma.c
	 */
	{
		.name = "qedr",
		.limits = {
			/* RDMA_MAX_SGE_PER_SQ_WQE of include/linux/qed/rdma_common.h */
			.max_send_sge = 4,
			.max_recv_sge = 4,
			.max_sge_rd = 4,
			/* QED_RDMA_MAX_WQE of qed_rdma.h */
			.max_qp_wr = 32767,
			/* QEDR_MAX_CQES of qedr.h: 65535 pages of 128 */
			.max_cqe = 8388480,
			/* num_mrs, at most RDMA_MAX_TIDS, less one */
			.max_mr = 131070,
			/* an eighth of that */
			.max_fast_reg_pages = 16383,
			/* RDMA_RESP_RD_ATOMIC_ELM_SIZE, RDMA_REQ_RD_ATOMIC_ELM_SIZE */
			.max_reads_in = 32,
			.max_reads_out = 32,
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/*
	 * hns_roce_query_device() of hw/hns/hns_roce_main.c: HIP09. Firmware: what drivers
	 * up to 5.15 took for granted, HNS_ROCE_V2_MAX_* of hns_roce_hw_v2.h.
	 */
	{
		.name = "hns",
		.limits = {
			/* firmware: max_sq_sg, max_rq_sg */
			.max_send_sge = 64,
			.max_recv_sge = 64,
			.max_sge_rd = 64,
			/* firmware: sq_depth */
			.max_qp_wr = 32768,
			/* firmware: PF_CAPS_C_CQ_DEPTH */
			.max_cqe = 4194304,
			/* firmware: PF_CAPS_C_NUM_MRWS */
			.max_mr = 1048576,
			/* HNS_ROCE_FRMR_MAX_PA of hns_roce_device.h */
			.max_fast_reg_pages = 512,
			/* firmware: PF_CAPS_C_MAX_ORD */
			.max_reads_in = 128,
			.max_reads_out = 128,
			/* PCI_REVISION_ID_HIP09 and later; firmware agrees */
			.fast_reg = true,
			/* set_rc_opcode() of hns_roce_hw_v2.c refuses IB_WR_LOCAL_INV */
		},
	},
	/* The same function: HIP08, which registers no memory. */
	{
		.name = "hns-hip08",
		.limits = {
			.max_send_sge = 64,
			.max_recv_sge = 64,
			.max_sge_rd = 64,
			.max_qp_wr = 32768,
			.max_cqe = 4194304,
			.max_mr = 1048576,
			.max_reads_in = 128,
			.max_reads_out = 128,
		},
	},
	/*
	 * erdma_query_device() of hw/erdma/erdma_verbs.c, erdma_dev_attrs_init() of
	 * erdma_main.c
	 */
	{
		.name = "erdma",
		.limits = {
			/* ERDMA_MAX_SEND_SGE, ERDMA_MAX_RECV_SGE of erdma_verbs.h */
			.max_send_sge = 6,
			.max_recv_sge = 1,
			/* ERDMA_MAX_SGE_RD of erdma_verbs.h */
			.max_sge_rd = 1,
			/* ERDMA_MAX_SEND_WR of erdma_verbs.h; firmware may have less */
			.max_qp_wr = 8192,
			/* firmware; assumed */
			.max_cqe = 65536,
			/* firmware; two for each of at least ERDMA_NQP_PER_QBLOCK */
			.max_mr = 2048,
			/* ERDMA_MAX_FRMR_PA of erdma_verbs.h */
			.max_fast_reg_pages = 512,
			/* ERDMA_MAX_ORD, ERDMA_MAX_IRD of erdma_verbs.h */
			.max_reads_in = 128,
			.max_reads_out = 128,
			.fast_reg = true,
			.local_inv = true,
			.iwarp = true,
		},
	},
	/* rxe_init_device_param() of sw/rxe/rxe.c, with what is in rxe_param.h */
	{
		.name = "rxe",
		.limits = {
			/* RXE_MAX_SGE, RXE_MAX_SGE_RD */
			.max_send_sge = 32,
			.max_recv_sge = 32,
			.max_sge_rd = 32,
			/* RXE_MAX_QP_WR */
			.max_qp_wr = 1048576,
			/* RXE_MAX_LOG_CQE */
			.max_cqe = 32767,
			/* RXE_MAX_MR */
			.max_mr = 524287,
			/* RXE_MAX_FMR_PAGE_LIST_LEN */
			.max_fast_reg_pages = 512,
			/* RXE_MAX_QP_RD_ATOM, RXE_MAX_QP_INIT_RD_ATOM */
			.max_reads_in = 128,
			.max_reads_out = 128,
			/* RXE_DEVICE_CAP_FLAGS */
			.fast_reg = true,
			.local_inv = true,
		},
	},
	/* siw_query_device() of sw/siw/siw_verbs.c, siw_device_create() of siw_main.c */
	{
		.name = "siw",
		.limits = {
			/* SIW_MAX_SGE of include/uapi/rdma/siw-abi.h */
			.max_send_sge = 6,
			.max_recv_sge = 6,
			/* SIW_MAX_SGE_RD of siw.h */
			.max_sge_rd = 1,
			/* SIW_MAX_QP_WR of siw.h */
			.max_qp_wr = 32768,
			/* SIW_MAX_CQE of siw.h */
			.max_cqe = 3276800,
			/* SIW_MAX_MR of siw.h */
			.max_mr = 1024000,
			/* SIW_MAX_SGE_PBL of siw.h */
			.max_fast_reg_pages = 256,
			/* SIW_MAX_ORD_QP, SIW_MAX_IRD_QP of siw.h */
			.max_reads_in = 128,
			.max_reads_out = 128,
			.fast_reg = true,
			.local_inv = true,
			.iwarp = true,
		},
	},
};

#endif /* _RPCRDMA_TESTING_ADAPTERS_H */
