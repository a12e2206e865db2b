#!/bin/sh
# Trains on the hosts of a Slurm allocation:
#   sbatch docs/examples/slurm.sh
# mgcompare starts on the first host, asks Slurm for the others, and lets srun start one worker on each.
#SBATCH --job-name=mgcompare
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00

# Where the cluster has a fast network for the data: the interface, as `ip addr` lists it.
# export OMPI_MCA_btl_tcp_if_include=ib0 OMPI_MCA_oob_tcp_if_include=ib0

# 2x4: four devices on each of two hosts. --resume continues a job that reached its time limit.
output=runs/slurm-lenet
resume=
if [ -d "$output" ]; then resume=--resume; fi
exec mgcompare configs/lenet.yaml -o "$output" $resume --set 'scaling.devices=[1, 4, 2x4]'
