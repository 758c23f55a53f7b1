! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! A program in Fortran that knows nothing of ccoll. Preprocessed once with `use mpi` and once, with -DF08, with `use mpi_f08`.
!   program <error of one compression>
program collectives
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    implicit none
    integer, parameter :: n = 50001
    real(4) :: x(n), y(n)
    real(8) :: d(n), e(n), few(3), want(n)
    complex(4) :: z(n)
    integer :: me, p, i, r, faults, inexact, all_faults, all_inexact, ierr
    character(32) :: argument
    real(8) :: eb
#ifdef F08
    type(MPI_Request) :: requests(2)
#else
    integer :: requests(2)
#endif
    call get_command_argument(1, argument)
    read (argument, *) eb
    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, p, ierr)
    faults = 0
    inexact = 0
    do i = 1, n
        x(i) = value(me, i)
    end do
    want = 0
    do r = 0, p - 1
        do i = 1, n
            want(i) = want(i) + value(r, i)
        end do
    end do

    call MPI_Allreduce(x, y, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    call compare("allreduce", y, dble(p))
    y = x
    call MPI_Allreduce(MPI_IN_PLACE, y, n, MPI_REAL4, MPI_SUM, MPI_COMM_WORLD, ierr)
    call compare("allreduce in place", y, dble(p))
    do i = 1, n
        z(i) = cmplx(x(i), 0)
    end do
    call MPI_Allreduce(MPI_IN_PLACE, z, n, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call compare("allreduce of complex numbers", real(z), dble(p))

    call MPI_Iallreduce(x, y, n, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
    d = me + 1
    call MPI_Iallreduce(d, e, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call compare("iallreduce", y, dble(p))
    if (any(e /= dble(p * (p + 1) / 2))) call fault("a sum of doubles is not exact")

    few = me + 1
    call MPI_Allreduce(MPI_IN_PLACE, few, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(few /= dble(p * (p + 1) / 2))) call fault("a small sum of doubles is not exact")

    y = x
    call MPI_Bcast(y, n, MPI_REAL, p - 1, MPI_COMM_WORLD, ierr)
    do i = 1, n
        want(i) = value(p - 1, i)
    end do
    call compare("bcast", y, 1d0)

    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(faults, all_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(inexact, all_inexact, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (me == 0 .and. all_faults == 0) print '(a, i0, a)', "ok, ", all_inexact, " inexact"
    call MPI_Finalize(ierr)
    if (all_faults /= 0) stop 1
contains
    real(4) function value(rank, i)
        integer, intent(in) :: rank, i
        value = sin(1e-3 * i + rank)
    end function
    subroutine fault(says)
        character(*), intent(in) :: says
        print *, says
        faults = faults + 1
    end subroutine
    ! errors: how many compressions can add up
    subroutine compare(what, found, errors)
        character(*), intent(in) :: what
        real(4), intent(in) :: found(n)
        real(8), intent(in) :: errors
        real(8) :: worst
        worst = maxval(abs(found - want))
        if (worst > errors * eb + 1e-6 * p) then
            print *, what, " is off by ", worst
            faults = faults + 1
        end if
        if (worst > 1e-6 * p) inexact = inexact + 1
    end subroutine
end program
