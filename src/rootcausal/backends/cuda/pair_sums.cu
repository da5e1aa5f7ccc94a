// Entropy sums of pairwise residuals in float64, and the penalties that follow from them.
//
// pair_list and leading_pairs: one warp a tile of pairs, lanes over rows.
//
// A residual costs 27 operations on the float64 pipe. Both exponentials are powers of two: adding MAGIC
// rounds the exponent to a whole number k and leaves it in the lowest bits, a polynomial takes the
// fraction, and k is added to the bits of the result on the integer pipe. Residuals are scaled so that
// exp(-u^2/2) = 2^(-w^2). Since log cosh u = |u| - log 2 + log(1 + t), t = exp(-2|u|), a lane multiplies
// its factors 1 + t and sets their exponents aside before they can overflow: one logarithm a tile.

#define MAGIC 6755399441055744.0            // 1.5 * 2^52
#define W_PER_U 0.8493218002880191          // sqrt(log2(e) / 2)
#define LOG_COSH_STEP 3.397287201152076     // 2 * log2(e) / W_PER_U
#define LOG_2 0.69314718055994530942
#define SMALLEST_EXPONENT -1000
#define ROWS_A_PRODUCT 512                  // 2^512 is far from overflow
#define LEAST_UNEXPLAINED 1e-10             // as core.moments.EXHAUSTED
#define ALL_LANES 0xffffffffu

struct Sums {
    double magnitude, gauss, product;
    int exponent;
};

__device__ __forceinline__ double power_of_two(double shifted, double f) {
    // 2^f on |f| <= 1/2, minimax, absolute error below 9e-13.
    double p = 1.3255224878668817e-06;
    p = fma(p, f, 1.5310079402249296e-05);
    p = fma(p, f, 0.00015403455852453838);
    p = fma(p, f, 0.0013333450568000645);
    p = fma(p, f, 0.009618129159402558);
    p = fma(p, f, 0.05550410941205933);
    p = fma(p, f, 0.2402265069581299);
    p = fma(p, f, 0.6931471805459335);
    p = fma(p, f, 1.0);
    const int k = max(__double2loint(shifted), SMALLEST_EXPONENT);
    return __hiloint2double(__double2hiint(p) + (k << 20), __double2loint(p));
}

__device__ __forceinline__ void add_residual(Sums& sums, double w) {
    const double magnitude = fabs(w);
    sums.magnitude += magnitude;
    double shifted = fma(magnitude, -LOG_COSH_STEP, MAGIC);
    const double t = power_of_two(shifted, fma(magnitude, -LOG_COSH_STEP, MAGIC - shifted));
    sums.product = fma(sums.product, t, sums.product);
    shifted = fma(-w, w, MAGIC);
    sums.gauss = fma(w, power_of_two(shifted, fma(-w, w, MAGIC - shifted)), sums.gauss);
}

__device__ __forceinline__ void set_exponent_aside(Sums& sums) {
    const int high = __double2hiint(sums.product);
    sums.exponent += (high >> 20) - 1023;
    sums.product = __hiloint2double((high & 0xfffff) | 0x3ff00000, __double2loint(sums.product));
}

__device__ __forceinline__ void add_lanes(Sums& sums) {
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) {
        sums.magnitude += __shfl_xor_sync(ALL_LANES, sums.magnitude, lane);
        sums.gauss += __shfl_xor_sync(ALL_LANES, sums.gauss, lane);
        sums.product *= __shfl_xor_sync(ALL_LANES, sums.product, lane);
        sums.exponent += __shfl_xor_sync(ALL_LANES, sums.exponent, lane);
    }
}

__device__ __forceinline__ double log_cosh_sum(double magnitude, double product, int exponent, long long rows) {
    return magnitude / W_PER_U + log(product) + (double)(exponent - rows) * LOG_2;
}

// The unit-variance residual of i given j is scale * z_i - slope * z_j, here in units of w.
struct Regression {
    double scale, slope;
};

__device__ __forceinline__ Regression regression(const double* R, int k, int i, int j) {
    // A column beside itself is taken as it is.
    const double r = i == j ? 0.0 : R[(long long)i * k + j];
    Regression out;
    out.scale = W_PER_U * rsqrt(fmax(1.0 - r * r, LEAST_UNEXPLAINED));
    out.slope = out.scale * r;
    return out;
}

// One warp: to[0:2] both sums of i given j, to[2:4] of j given i, over the rows first..last-1.
__device__ __forceinline__ void sum_pair(const double* __restrict__ Z, const double* __restrict__ R, long long n, int k,
                                         int i, int j, long long first, long long last, double* __restrict__ to) {
    const int lane = threadIdx.x % 32;
    const Regression on = regression(R, k, i, j);
    const double* z_i = Z + i * n;
    const double* z_j = Z + j * n;
    Sums sums[2] = {{0.0, 0.0, 1.0, 0}, {0.0, 0.0, 1.0, 0}};
    for (long long start = first; start < last; start += 32 * ROWS_A_PRODUCT) {
        const long long stop = min(start + 32 * ROWS_A_PRODUCT, last);
#pragma unroll 4
        for (long long row = start + lane; row < stop; row += 32) {
            const double x = z_i[row], y = z_j[row];
            add_residual(sums[0], fma(on.scale, x, -on.slope * y));
            add_residual(sums[1], fma(on.scale, y, -on.slope * x));
        }
        set_exponent_aside(sums[0]);
        set_exponent_aside(sums[1]);
    }
    add_lanes(sums[0]);
    add_lanes(sums[1]);
    if (lane < 2) {
        const Sums mine = lane ? sums[1] : sums[0];
        to[2 * lane] = log_cosh_sum(mine.magnitude, mine.product, mine.exponent, last - first);
        to[2 * lane + 1] = mine.gauss / W_PER_U;
    }
}

// out (splits, m, 4): the sums of each pair, for rows of each split.
extern "C" __global__ void __launch_bounds__(128)
pair_list(const double* __restrict__ Z, const double* __restrict__ R, long long n, int k,
          const int* __restrict__ pairs, int m, int splits, double* __restrict__ out) {
    const long long unit = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (unit >= (long long)m * splits) return;
    const int pair = unit % m, split = unit / m;
    sum_pair(Z, R, n, k, pairs[pair], pairs[m + pair], n * split / splits, n * (split + 1) / splits, out + 4 * unit);
}

// All pairs of m columns with a member among the first q. out (splits, 2, 2, q, m): sum s of the residual
// of cols[a] given cols[b] at [0, s, a, b], and of cols[b] given cols[a] at [1, s, a, b]. A warp takes two
// columns beside two others, so that four loads serve eight residuals.
extern "C" __global__ void __launch_bounds__(128, 4)
leading_pairs(const double* __restrict__ Z, const double* __restrict__ R, long long n, int k,
              const int* __restrict__ cols, int q, int m, int splits, double* __restrict__ out) {
    const long long unit = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const long long side = (m + 1) / 2, rows = (q + 1) / 2, tiles = rows * side - rows * (rows - 1) / 2;
    if (unit >= tiles * splits) return;
    const int lane = threadIdx.x % 32;
    const int split = unit / tiles;
    const long long tile = unit % tiles;
    // Tiles are numbered along the rows of the upper triangle; row a starts after a * (2 * side + 1 - a) / 2.
    const double twice = 2.0 * (double)side + 1.0;
    long long a = (long long)((twice - sqrt(twice * twice - 8.0 * (double)tile)) / 2.0);
    while (a * (2 * side + 1 - a) / 2 > tile) --a;
    while ((a + 1) * (2 * side - a) / 2 <= tile) ++a;
    const long long b = a + tile - a * (2 * side + 1 - a) / 2;
    int place[4], column[4];
    const double* z[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        place[c] = (int)min(2 * (c < 2 ? a : b) + c % 2, (long long)m - 1);
        column[c] = cols[place[c]];
        z[c] = Z + column[c] * n;
    }
    Regression on[4];
    Sums sums[8];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        on[c] = regression(R, k, column[c / 2], column[2 + c % 2]);
        sums[2 * c] = sums[2 * c + 1] = {0.0, 0.0, 1.0, 0};
    }
    const long long first = n * split / splits, last = n * (split + 1) / splits;
    for (long long start = first; start < last; start += 32 * ROWS_A_PRODUCT) {
        const long long stop = min(start + 32 * ROWS_A_PRODUCT, last);
        for (long long row = start + lane; row < stop; row += 32) {
            double x[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) x[c] = z[c][row];
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const double i = x[c / 2], j = x[2 + c % 2];
                add_residual(sums[2 * c], fma(on[c].scale, i, -on[c].slope * j));
                add_residual(sums[2 * c + 1], fma(on[c].scale, j, -on[c].slope * i));
            }
        }
#pragma unroll
        for (int c = 0; c < 8; ++c) set_exponent_aside(sums[c]);
    }
    // Lane c writes residual c, so that eight logarithms cost the time of one.
    Sums mine = sums[0];
    int i = 0, j = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        add_lanes(sums[c]);
        if (lane == c) {
            mine = sums[c];
            const int x = place[c / 4], y = place[2 + c / 2 % 2];
            i = c % 2 ? y : x;
            j = c % 2 ? x : y;
        }
    }
    if (lane < 8) {
        const long long plane = (long long)q * m;
        const double log_cosh = log_cosh_sum(mine.magnitude, mine.product, mine.exponent, last - first);
        const double gauss = mine.gauss / W_PER_U;
        double* to = out + 4 * split * plane;
        if (i < q) {
            to[(long long)i * m + j] = log_cosh;
            to[plane + (long long)i * m + j] = gauss;
        }
        if (j < q) {
            to[2 * plane + (long long)j * m + i] = log_cosh;
            to[3 * plane + (long long)j * m + i] = gauss;
        }
    }
}

// core.entropy.block_penalties, on the sums of leading_pairs (2, 2, q, m): their first plane becomes the
// entropies of rows given columns, the third those of columns given rows, and the second the scores.
__device__ __forceinline__ double entropy(double log_cosh_sum, double gauss_sum, double n) {
    const double log_cosh = log_cosh_sum / n - 0.37457, gauss = gauss_sum / n;
    return 1.4189385332046727 - 79.047 * log_cosh * log_cosh - 7.4129 * gauss * gauss;
}

// One block a row; penalty (q,) is what each row loses to all columns. With row_of, entropies of discrete columns
// are not taken from sums: those of column c given the others are at row row_of[c] of known (d, m), if that is
// not negative.
__device__ __forceinline__ void penalize_row(double* sums, const double* __restrict__ own, double n, int q, int m,
                                             double* __restrict__ penalty, const int* __restrict__ row_of,
                                             const double* __restrict__ known) {
    __shared__ double of_warp[8];
    const int row = blockIdx.x;
    const long long plane = (long long)q * m;
    double lost = 0.0;
    for (int column = threadIdx.x; column < m; column += blockDim.x) {
        double* at = sums + (long long)row * m + column;
        double row_given = entropy(at[0], at[plane], n);
        double column_given = entropy(at[2 * plane], at[3 * plane], n);
        if (row_of) {
            if (row_of[row] >= 0) row_given = known[(long long)row_of[row] * m + column];
            if (row_of[column] >= 0) column_given = known[(long long)row_of[column] * m + row];
        }
        const double score = (own[column] - own[row]) + (row_given - column_given);
        at[0] = row_given;
        at[plane] = score;
        at[2 * plane] = column_given;
        const double negative = fmin(score, 0.0);
        lost = fma(negative, negative, lost);
    }
#pragma unroll
    for (int lane = 16; lane > 0; lane >>= 1) lost += __shfl_xor_sync(ALL_LANES, lost, lane);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = lost;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; ++warp) lost += of_warp[warp];
        penalty[row] = lost;
    }
}

extern "C" __global__ void __launch_bounds__(256)
row_penalties(double* sums, const double* __restrict__ own, double n, int q, int m, double* __restrict__ penalty) {
    penalize_row(sums, own, n, q, m, penalty, nullptr, nullptr);
}

extern "C" __global__ void __launch_bounds__(256)
row_penalties_knowing(double* sums, const double* __restrict__ own, double n, int q, int m,
                      double* __restrict__ penalty, const int* __restrict__ row_of,
                      const double* __restrict__ known) {
    penalize_row(sums, own, n, q, m, penalty, row_of, known);
}

// 32 columns a block, 32 strips of rows; penalty (m,) is what each column loses to the rows.
extern "C" __global__ void __launch_bounds__(1024)
column_penalties(const double* __restrict__ score, int q, int m, double* __restrict__ penalty) {
    __shared__ double of_strip[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x;
    double lost = 0.0;
    if (column < m)
        for (int row = threadIdx.y; row < q; row += 32) {
            const double positive = fmax(score[(long long)row * m + column], 0.0);
            lost = fma(positive, positive, lost);
        }
    of_strip[threadIdx.y][threadIdx.x] = lost;
    __syncthreads();
    if (threadIdx.y == 0 && column < m) {
        for (int strip = 1; strip < 32; ++strip) lost += of_strip[strip][threadIdx.x];
        penalty[column] = lost;
    }
}

// Replace every column in cols by its residual given root.
extern "C" __global__ void regress_rows(double* Z, const double* __restrict__ R, long long n, int k, int root,
                                        const int* __restrict__ cols) {
    const int column = cols[blockIdx.y];
    const double r = R[(long long)root * k + column];
    const double scale = rsqrt(fmax(1.0 - r * r, LEAST_UNEXPLAINED));
    const double* error = Z + root * n;
    double* z = Z + column * n;
    for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < n;
         row += (long long)gridDim.x * blockDim.x)
        z[row] = (z[row] - r * error[row]) * scale;
}

// Correlations of these residuals; the root's own row is left as it was.
extern "C" __global__ void regress_correlations(double* R, int k, int root, const int* __restrict__ cols, int m) {
    const int a = blockIdx.y;
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= m) return;
    const int i = cols[a], j = cols[b];
    const double r_i = R[(long long)root * k + i], r_j = R[(long long)root * k + j];
    const double scale = rsqrt(fmax(1.0 - r_i * r_i, LEAST_UNEXPLAINED)) *
                         rsqrt(fmax(1.0 - r_j * r_j, LEAST_UNEXPLAINED));
    double* r = R + (long long)i * k + j;
    *r = fmin(1.0, fmax(-1.0, (*r - r_i * r_j) * scale));
}
