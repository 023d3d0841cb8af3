package sweep

import (
	"strings"
	"testing"
)

// TestKubernetesFields holds the manifest against the fields that the API reference publishes for batch/v1 Job, PodSpec
// and Container (kubernetes.io/docs/reference/kubernetes-api, read 2026-12): each key that we write is one of them, at
// its level, and an Indexed Job has what it must have.
func TestKubernetesFields(t *testing.T) {
	e := Export{Name: "peaks", Sweep: "/data/sweep.toml", Out: "/data/out", Program: "scoville", Shards: 24, Image: "i:1", Claim: "c"}
	text, err := e.Kubernetes()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]string{
		"":                              "apiVersion kind metadata spec status",
		"metadata":                      "name namespace labels annotations generateName",
		"spec":                          "activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template ttlSecondsAfterFinished",
		"spec.template":                 "metadata spec",
		"spec.template.spec":            "containers initContainers volumes restartPolicy nodeSelector serviceAccountName tolerations affinity securityContext",
		"spec.template.spec.containers": "name image command args env envFrom ports resources volumeMounts workingDir imagePullPolicy securityContext",
		"spec.template.spec.containers.resources":          "requests limits claims",
		"spec.template.spec.containers.resources.requests": "cpu memory",
		"spec.template.spec.containers.volumeMounts":       "name mountPath subPath readOnly",
		"spec.template.spec.volumes":                       "name persistentVolumeClaim emptyDir configMap",
		"spec.template.spec.volumes.persistentVolumeClaim": "claimName readOnly",
	}
	values := map[string]string{}
	type level struct {
		indent int
		path   string
	}
	var stack []level
	for n, line := range strings.Split(text, "\n") {
		body := strings.TrimLeft(line, " ")
		if body == "" || body[0] == '#' {
			continue
		}
		indent := len(line) - len(body)
		if rest, item := strings.CutPrefix(body, "- "); item {
			body, indent = rest, indent+2
		}
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		parent := ""
		if len(stack) > 0 {
			parent = stack[len(stack)-1].path
		}
		key, value, ok := strings.Cut(body, ":")
		if !ok {
			t.Fatalf("line %d: %q is no key", n+1, line)
		}
		if !strings.Contains(" "+allowed[parent]+" ", " "+key+" ") {
			t.Errorf("line %d: %q is no field of %q", n+1, key, parent)
		}
		path := strings.TrimPrefix(parent+"."+key, ".")
		values[path] = strings.TrimSpace(value)
		stack = append(stack, level{indent, path})
	}
	for path, want := range map[string]string{
		"apiVersion": "batch/v1", "kind": "Job", "spec.completionMode": "Indexed", "spec.completions": "24",
		"spec.template.spec.restartPolicy": "Never", // backoffLimitPerIndex demands it
	} {
		if values[path] != want {
			t.Errorf("%s is %q, want %q", path, values[path], want)
		}
	}
	if !strings.Contains(text, "ntested on a cluster") {
		t.Error("the manifest does not say that it is untested")
	}
}
