! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! Members of an ensemble, one a rank, drift apart and are drawn back to their mean in each step: a sum of fields over all ranks. It knows
! nothing of ccoll.
!   mpifort -O2 ensemble.f90 -o ensemble && mpirun -n 4 ./ensemble
program ensemble
    use mpi
    implicit none
    integer, parameter :: n = 1024, steps = 12
    real, allocatable :: field(:, :), next(:, :), total(:, :)
    double precision, allocatable :: exact(:, :), own(:, :)
    double precision :: begin, all_of, in_mpi, at, slowest(2)
    real :: x, y
    integer :: ranks, me, error, step, i, j

    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    allocate(field(n, n), next(n, n), total(n, n), exact(n, n), own(n, n))
    do j = 1, n
        do i = 1, n
            x = 6.2831853 * i / n
            y = 6.2831853 * j / n
            field(i, j) = sin(3 * x + 0.3 * me) * cos(2 * y) + 0.2 * sin(17 * x - 11 * y + me)
        end do
    end do
    in_mpi = 0
    call MPI_Barrier(MPI_COMM_WORLD, error)
    begin = MPI_Wtime()
    do step = 1, steps
        ! The wind blows along x, and eddies are smoothed.
        do j = 1, n
            do i = 1, n
                next(i, j) = 0.6 * field(modulo(i - 2, n) + 1, j) + 0.2 * field(i, j) &
                    + 0.1 * (field(i, modulo(j, n) + 1) + field(i, modulo(j - 2, n) + 1))
            end do
        end do
        at = MPI_Wtime()
        call MPI_Allreduce(next, total, n * n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
        in_mpi = in_mpi + MPI_Wtime() - at
        field = next + 0.1 * (total / ranks - next)
    end do
    all_of = MPI_Wtime() - begin
    call MPI_Allreduce((/all_of, in_mpi/), slowest, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    ! How far the last sum is from that of double precision
    own = next
    call MPI_Allreduce(own, exact, n * n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (me == 0) print '(a, f8.4, a, f8.4, a, es9.2)', 'seconds per step', slowest(1) / steps, ', in MPI_Allreduce', &
        slowest(2) / steps, ', largest error of a sum', maxval(abs(total - exact))
    call MPI_Finalize(error)
end program ensemble
