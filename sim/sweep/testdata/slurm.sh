#!/bin/sh
# Submits the sweep as a Slurm job array and a merge that waits for it: sh peaks.slurm.sh
# Tasks that ran before are harmless: finished points are kept.
set -eu
array=$(sbatch --parsable --requeue --job-name=peaks --array=0-23 --ntasks=1 --output=peaks-%a.log <<'TASK'
#!/bin/sh
exec '/opt/scoville' sweep run-shard '/data/it'\''s a sweep.toml' -o '/data/out' --shards 24 --quiet
TASK
)
merge=$(sbatch --parsable --job-name=peaks-merge --dependency="afterok:$array" --ntasks=1 --output=peaks-merge.log <<'TASK'
#!/bin/sh
exec '/opt/scoville' sweep merge '/data/it'\''s a sweep.toml' -o '/data/out' --shards 24
TASK
)
echo "array $array, merge $merge"
