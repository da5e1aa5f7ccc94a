// The accounts of a pruned search, on the card: running totals, who has met whom, who is still in the race,
// and which pairs to meet next. Compiled behind pair_sums.cu.
//
// A place is a position among the m candidates of a round; a column, one of the k of the table. Sums are added
// in one order, and pairs are chosen by whole numbers, so that a search does the same each time.

#define CHOOSING_THREADS 128
#define BINS 64                             // of penalties, each half an octave, from the largest down
#define PENALTY_UNIT 4294967296.0           // 2^32: penalties are added as whole numbers of the largest / 2^32
#define NOTHING_LESS 1.7976931348623157e308 // the largest double
#define ROUNDING 1e-9                       // as core.search.ROUNDING
#define ROWS_A_SPLIT 256                    // as cupy_gpu.ROWS_A_SPLIT

__device__ __forceinline__ double penalty_of(double score) {
    const double negative = fmin(score, 0.0);
    return negative * negative;
}

// How a round stands. limit: what a total may not pass to be in the race; chosen: pairs of this call; met: of
// all calls; leader: the place that is expected to win, or -1 once that one met all; alive: candidates that
// may still win, and have not met all.
struct Standing {
    double limit;
    unsigned long long chosen, met;
    int leader, alive;
};

// Sums of all threads of a block, in one order; threads is a multiple of 32, at most 1,024.
__device__ __forceinline__ double block_sum(double mine) {
    __shared__ double of_warp[32];
    for (int lane = 16; lane > 0; lane >>= 1) mine += __shfl_xor_sync(ALL_LANES, mine, lane);
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    double total = of_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) total += of_warp[warp];
    return total;
}

// One block a candidate. With number = 0 what is remembered of all rounds, else what this round has shown.
extern "C" __global__ void __launch_bounds__(CHOOSING_THREADS)
add_totals(const double* __restrict__ score, const int* __restrict__ seen, int k, const int* __restrict__ candidates,
           int m, int number, double* __restrict__ total, int* __restrict__ unmet) {
    const int column = candidates[blockIdx.x];
    double mine = 0.0, left = 0.0;
    for (int place = threadIdx.x; place < m; place += blockDim.x) {
        const int other = candidates[place];
        if (other == column) continue;
        const long long at = (long long)column * k + other;
        if (number == 0 || seen[at] == number)
            mine += penalty_of(score[at]);
        else
            left += 1.0;
    }
    mine = block_sum(mine);
    left = block_sum(left);
    if (threadIdx.x == 0) {
        total[blockIdx.x] = mine;
        unmet[blockIdx.x] = (int)left;
    }
}

// The smallest of (value, place) of all threads; ties go to the first place.
__device__ __forceinline__ void block_least(double& value, int& place) {
    __shared__ double values[32];
    __shared__ int places[32];
    for (int lane = 16; lane > 0; lane >>= 1) {
        const double other = __shfl_xor_sync(ALL_LANES, value, lane);
        const int at = __shfl_xor_sync(ALL_LANES, place, lane);
        if (other < value || (other == value && at < place)) value = other, place = at;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = value, places[threadIdx.x / 32] = place;
    __syncthreads();
    value = values[0], place = places[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp)
        if (values[warp] < value || (values[warp] == value && places[warp] < place))
            value = values[warp], place = places[warp];
}

// One block. Before a round (opening) the candidate with the least remembered total leads it; after a call, the
// least total of who met all is the limit.
extern "C" __global__ void __launch_bounds__(256)
take_stock(const double* __restrict__ total, const int* __restrict__ unmet, int m, int opening, long long capacity,
           Standing* standing) {
    double least = NOTHING_LESS;
    int leader = m;
    for (int place = threadIdx.x; place < m; place += blockDim.x)
        if ((opening || unmet[place] == 0) && total[place] < least) least = total[place], leader = place;
    block_least(least, leader);
    const double limit = least * (1.0 + ROUNDING);
    double alive = 0.0;
    for (int place = threadIdx.x; place < m; place += blockDim.x)
        if (!opening && unmet[place] > 0 && total[place] <= limit) alive += 1.0;
    alive = block_sum(alive);
    if (threadIdx.x == 0) {
        standing->limit = limit;
        standing->leader = opening ? leader : -1;
        standing->met = opening ? 0 : standing->met + min(standing->chosen, (unsigned long long)capacity);
        standing->chosen = 0;
        standing->alive = (int)alive;
    }
}

// Enter a pair in the list of the call, unless it is there; what finds no room is left for a later call.
__device__ __forceinline__ void claim(bool wanted, int a, int b, int k, int number, int* chosen, int* pairs,
                                      long long capacity, Standing* standing) {
    const long long at = (long long)min(a, b) * k + max(a, b);
    const bool mine = wanted && atomicExch(chosen + at, number) != number;
    const unsigned int claimed = __ballot_sync(ALL_LANES, mine);
    if (!claimed) return;
    const int lane = threadIdx.x % 32, first = __ffs(claimed) - 1;
    unsigned long long slot = 0;
    if (lane == first) slot = atomicAdd(&standing->chosen, (unsigned long long)__popc(claimed));
    slot = __shfl_sync(ALL_LANES, slot, first) + __popc(claimed & ((1u << lane) - 1));
    if (!mine) return;
    if (slot < (unsigned long long)capacity) {
        pairs[slot] = min(a, b);
        pairs[capacity + slot] = max(a, b);
    } else {
        chosen[at] = 0;
    }
}

// One block a candidate: whoever leads meets all, and who may still win the partners whose remembered penalties
// should beat it, the largest first, and some to spare; at most so many, or all who are left.
extern "C" __global__ void __launch_bounds__(CHOOSING_THREADS)
choose(const double* __restrict__ score, const int* __restrict__ seen, int* chosen, int k,
       const int* __restrict__ candidates, int m, const double* __restrict__ total, const int* __restrict__ unmet,
       int number, int most, int spare, int* pairs, long long capacity, Standing* standing) {
    __shared__ unsigned long long of_bin[BINS];
    __shared__ int in_bin[BINS], of_warp[CHOOSING_THREADS / 32], last_bin, from_last, before;
    const int place = blockIdx.x, column = candidates[place], leader = standing->leader;
    const double limit = standing->limit;
    const bool opening = leader >= 0;
    if (!opening && (unmet[place] == 0 || total[place] > limit)) return;
    const double* own = score + (long long)column * k;
    const int* met = seen + (long long)column * k;
    const bool everyone = place == leader || most >= m;
    double largest = 0.0;
    if (!everyone) {
        for (int other = threadIdx.x; other < m; other += blockDim.x) {
            const int partner = candidates[other];
            if (partner != column && other != leader && met[partner] != number)
                largest = fmax(largest, penalty_of(own[partner]));
        }
        double negative = -largest;
        int unused = 0;
        block_least(negative, unused);
        largest = -negative;
        if (largest <= 0.0) return;
        for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) of_bin[bin] = 0, in_bin[bin] = 0;
        __syncthreads();
        for (int other = threadIdx.x; other < m; other += blockDim.x) {
            const int partner = candidates[other];
            if (partner == column || other == leader || met[partner] == number) continue;
            const double share = penalty_of(own[partner]) / largest;
            const int bin = share > 0.0 ? (int)(-2.0 * log2(share)) : BINS;
            if (bin < BINS) {
                atomicAdd(of_bin + bin, (unsigned long long)(share * PENALTY_UNIT));
                atomicAdd(in_bin + bin, 1);
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            double reached = opening ? penalty_of(own[candidates[leader]]) : total[place];
            int room = reached > limit ? 0 : most;
            last_bin = -1, from_last = 0;
            for (int bin = 0; bin < BINS && room > 0; ++bin) {
                if (!in_bin[bin]) continue;
                const double sum = (double)of_bin[bin] * (largest / PENALTY_UNIT);
                last_bin = bin;
                from_last = min(in_bin[bin], room);
                if (reached + sum > limit) {
                    const double needed = (limit - reached) / sum * (double)in_bin[bin];
                    from_last = min(from_last, (int)needed + 1 + spare);
                    break;
                }
                reached += sum;
                room -= from_last;
            }
            before = 0;
        }
        __syncthreads();
        if (last_bin < 0) return;
    }
    // All warps go through the same number of steps, since lanes and warps have to agree.
    for (int start = 0; start < m; start += blockDim.x) {
        const int other = start + threadIdx.x;
        const int partner = candidates[min(other, m - 1)];
        bool wanted = other < m && partner != column && met[partner] != number;
        if (!everyone) {
            const double share = wanted && other != leader ? penalty_of(own[partner]) / largest : 0.0;
            const int bin = share > 0.0 ? (int)(-2.0 * log2(share)) : BINS;
            wanted = bin < last_bin;
            // Of the last bin the first in the order of columns.
            const bool last = bin == last_bin;
            const unsigned int here = __ballot_sync(ALL_LANES, last);
            if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = __popc(here);
            __syncthreads();
            int rank = before + __popc(here & ((1u << (threadIdx.x % 32)) - 1)), step = 0;
            for (int warp = 0; warp < CHOOSING_THREADS / 32; ++warp) {
                if (warp < threadIdx.x / 32) rank += of_warp[warp];
                step += of_warp[warp];
            }
            wanted = wanted || (last && rank < from_last);
            __syncthreads();
            if (threadIdx.x == 0) before += step;
            __syncthreads();
        }
        claim(wanted, column, partner, k, number, chosen, pairs, capacity, standing);
    }
}

// In how many parts to cut the rows of each pair, so that every multiprocessor has work.
__device__ __forceinline__ int splits_of(long long count, long long n, int warps) {
    return (int)max(1LL, min(warps / max(1LL, count), n / ROWS_A_SPLIT));
}

// The pairs of a call: out (splits, count, 4) as in pair_list. As many warps as the card keeps busy.
extern "C" __global__ void __launch_bounds__(128)
meet(const double* __restrict__ Z, const double* __restrict__ R, long long n, int k, const int* __restrict__ pairs,
     long long capacity, const Standing* __restrict__ standing, double* __restrict__ out) {
    const int warps = gridDim.x * (blockDim.x / 32), warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const long long count = min((long long)standing->chosen, capacity);
    const int splits = splits_of(count, n, warps);
    for (long long unit = warp; unit < count * splits; unit += warps) {
        const long long pair = unit % count, split = unit / count;
        sum_pair(Z, R, n, k, pairs[pair], pairs[capacity + pair], n * split / splits, n * (split + 1) / splits,
                 out + 4 * unit);
    }
}

__device__ __forceinline__ void enter_pair(int i, int j, double i_given_j, double j_given_i, int k, int number,
                                           const double* own, double* score, double* given, int* seen) {
    const double of_pair = (own[j] - own[i]) + (i_given_j - j_given_i);
    const long long here = (long long)i * k + j, there = (long long)j * k + i;
    score[here] = of_pair, score[there] = -of_pair;
    given[here] = i_given_j, given[there] = j_given_i;
    seen[here] = seen[there] = number;
}

extern "C" __global__ void __launch_bounds__(128)
enter(const double* __restrict__ sums, const int* __restrict__ pairs, long long capacity, double n, int k, int warps,
      int number, const double* __restrict__ own, double* score, double* given, int* seen,
      const Standing* __restrict__ standing) {
    const long long count = min((long long)standing->chosen, capacity);
    const int splits = splits_of(count, (long long)n, warps);
    for (long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x; pair < count;
         pair += (long long)gridDim.x * blockDim.x) {
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        for (int split = 0; split < splits; ++split)
            for (int part = 0; part < 4; ++part) sum[part] += sums[4 * (split * count + pair) + part];
        enter_pair(pairs[pair], pairs[capacity + pair], entropy(sum[0], sum[1], n), entropy(sum[2], sum[3], n), k,
                   number, own, score, given, seen);
    }
}

// The pairs of leading_pairs (2, 2, q, m), of columns cols; above the diagonal of the first q.
extern "C" __global__ void __launch_bounds__(128)
enter_block(const double* __restrict__ sums, const int* __restrict__ cols, int q, int m, double n, int k, int number,
            const double* __restrict__ own, double* score, double* given, int* seen) {
    const int a = blockIdx.y, b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= m || b <= a) return;
    const long long plane = (long long)q * m;
    const double* at = sums + (long long)a * m + b;
    enter_pair(cols[a], cols[b], entropy(at[0], at[plane], n), entropy(at[2 * plane], at[3 * plane], n), k, number,
               own, score, given, seen);
}

// One block. out: the root's place, by how much it won, pairs met, candidates that are still alive, and then
// the entropy of each candidate's residual given the root.
extern "C" __global__ void __launch_bounds__(256)
finish(const double* __restrict__ total, const int* __restrict__ unmet, const double* __restrict__ given, int k,
       const int* __restrict__ candidates, int m, const Standing* __restrict__ standing, double* __restrict__ out) {
    double least = NOTHING_LESS, next = NOTHING_LESS;
    int root = m;
    for (int place = threadIdx.x; place < m; place += blockDim.x)
        if (unmet[place] == 0 && total[place] < least) least = total[place], root = place;
    block_least(least, root);
    for (int place = threadIdx.x; place < m; place += blockDim.x)
        if (place != root) next = fmin(next, total[place]);
    int unused = 0;
    block_least(next, unused);
    if (threadIdx.x == 0) {
        out[0] = (double)root;
        out[1] = fmax(0.0, next - least);
        out[2] = (double)standing->met;
        out[3] = (double)standing->alive;
    }
    for (int place = threadIdx.x; place < m; place += blockDim.x)
        out[4 + place] = given[(long long)candidates[place] * k + candidates[min(root, m - 1)]];
}
