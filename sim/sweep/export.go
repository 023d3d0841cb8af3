package sweep

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// Export is what a job file is written for.
type Export struct {
	Name    string // of the job: lower-case letters, digits and dashes
	Sweep   string // path of the sweep file, as the tasks see it
	Out     string // shared folder of results, as the tasks see it
	Program string // path of scoville, as the tasks see it
	Shards  int
	Image   string // container image; Kubernetes only
	Claim   string // name of the PersistentVolumeClaim mounted at the folder of Out; Kubernetes only
}

// MaxShards is the largest array that Slurm accepts by default (MaxArraySize 1001).
const MaxShards = 1000

func (e Export) check() error {
	if e.Shards < 1 || e.Shards > MaxShards {
		return fmt.Errorf("--shards is %d; 1 to %d are expected", e.Shards, MaxShards)
	}
	if e.Name == "" || len(e.Name) > 52 || strings.Trim(e.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(e.Name, "-") || strings.HasSuffix(e.Name, "-") {
		return fmt.Errorf("--name %q: up to 52 lower-case letters, digits and dashes are expected, no dash at the ends", e.Name)
	}
	for _, s := range []string{e.Sweep, e.Out, e.Program, e.Image, e.Claim} {
		if strings.ContainsAny(s, "\r\n\x00") {
			return fmt.Errorf("%q holds a line break", s)
		}
	}
	return nil
}

// Slurm is a shell script that submits an array of shards and, after it, a merge. A task whose node fails is requeued.
func (e Export) Slurm() (string, error) {
	if err := e.check(); err != nil {
		return "", err
	}
	return fmt.Sprintf(`#!/bin/sh
# Submits the sweep as a Slurm job array and a merge that waits for it: sh %[1]s.slurm.sh
# Tasks that ran before are harmless: finished points are kept.
set -eu
array=$(sbatch --parsable --requeue --job-name=%[1]s --array=0-%[2]d --ntasks=1 --output=%[1]s-%%a.log <<'TASK'
#!/bin/sh
exec %[4]s sweep run-shard %[5]s -o %[6]s --shards %[3]d --quiet
TASK
)
merge=$(sbatch --parsable --job-name=%[1]s-merge --dependency="afterok:$array" --ntasks=1 --output=%[1]s-merge.log <<'TASK'
#!/bin/sh
exec %[4]s sweep merge %[5]s -o %[6]s --shards %[3]d
TASK
)
echo "array $array, merge $merge"
`, e.Name, e.Shards-1, e.Shards, shellQuote(e.Program), shellQuote(e.Sweep), shellQuote(e.Out)), nil
}

// Kubernetes is an Indexed Job. Its tasks write to a volume that all share; the merge is a second run of the program.
func (e Export) Kubernetes() (string, error) {
	if err := e.check(); err != nil {
		return "", err
	}
	if e.Image == "" || e.Claim == "" {
		return "", fmt.Errorf("a Kubernetes job needs --image, a container image with scoville, and --claim, a PersistentVolumeClaim that all tasks may write")
	}
	if !path.IsAbs(e.Out) || !path.IsAbs(e.Sweep) {
		return "", fmt.Errorf("a Kubernetes job needs absolute paths of the sweep file and of -o, as its containers see them")
	}
	return fmt.Sprintf(`# Untested on a cluster. Checked against the published fields of batch/v1 Job only.
# When it is complete: scoville sweep merge %[5]s -o %[6]s --shards %[3]d
apiVersion: batch/v1
kind: Job
metadata:
  name: %[1]s
spec:
  completionMode: Indexed
  completions: %[3]d
  parallelism: %[2]d
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: shard
          image: %[7]s
          command: [%[4]s, "sweep", "run-shard", %[8]s, "-o", %[9]s, "--shards", "%[3]d", "--quiet"]
          resources:
            requests:
              cpu: "1"
              memory: 1Gi
          volumeMounts:
            - name: sweep
              mountPath: %[10]s
      volumes:
        - name: sweep
          persistentVolumeClaim:
            claimName: %[11]s
`, e.Name, max(1, e.Shards/8), e.Shards, quote(e.Program), shellQuote(e.Sweep), shellQuote(e.Out), quote(e.Image), quote(e.Sweep), quote(e.Out), quote(path.Dir(e.Out)), quote(e.Claim)), nil
}

// quote writes YAML's double-quoted form, which holds JSON's.
func quote(s string) string { return strconv.Quote(s) }

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ShardFromEnvironment is the number that a batch scheduler gave this task: a Slurm array task, a pod of a Kubernetes
// Indexed Job, or a child of an AWS Batch array job. shards is 0 where the scheduler does not tell.
func ShardFromEnvironment() (index, shards int, found bool, err error) {
	for _, v := range []struct{ index, count string }{
		{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"}, {"JOB_COMPLETION_INDEX", ""}, {"AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"}} {
		s := os.Getenv(v.index)
		if s == "" {
			continue
		}
		if index, err = strconv.Atoi(s); err != nil || index < 0 {
			return 0, 0, false, fmt.Errorf("%s is %q; a number from 0 is expected", v.index, s)
		}
		if n := os.Getenv(v.count); v.count != "" && n != "" {
			if shards, err = strconv.Atoi(n); err != nil {
				return 0, 0, false, fmt.Errorf("%s is %q; a number is expected", v.count, n)
			}
		}
		return index, shards, true, nil
	}
	return 0, 0, false, nil
}

// Shards is how many tasks to cut the sweep into when a point takes so many seconds: each at least 30 s, since a scheduler
// starts a few tasks a second.
func (f *File) Shards(pointSeconds float64) int {
	const taskSeconds = 30
	points := max(1, len(f.Points)) * len(f.Seeds)
	for _, a := range f.axes {
		points *= len(a.values)
	}
	return max(1, min(MaxShards, int(float64(points)*pointSeconds/taskSeconds), points))
}
