package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// commands that print one reading, by the name given to --power.
func command(name string) []string {
	switch name {
	case "nvidia-smi":
		return []string{"nvidia-smi", "--query-gpu=index,power.draw,temperature.gpu,clocks.sm,utilization.gpu,clocks_throttle_reasons.active", "--format=csv"}
	case "amd-smi":
		return []string{"amd-smi", "metric", "-p", "-c", "-t", "-u", "--csv"}
	case "rocm-smi":
		return []string{"rocm-smi", "--showpower", "--showtemp", "--showuse", "--csv"}
	case "npu-smi":
		return []string{"npu-smi", "info"}
	case "hl-smi":
		return []string{"hl-smi", "-Q", "index,power.draw,temperature.aip,utilization.aip", "-f", "csv"}
	}
	return nil
}

// Sources lists the names a Sampler knows besides a URL of a Prometheus exporter.
func Sources() []string {
	return []string{"nvidia-smi", "amd-smi", "rocm-smi", "npu-smi", "hl-smi", "rapl"}
}

// Sampler reads power about once a second in the background.
type Sampler struct {
	read   func(ctx context.Context) (*Log, error)
	every  time.Duration
	mu     sync.Mutex
	log    Log
	failed error
	stop   context.CancelFunc
	done   chan struct{}
}

// NewSampler takes the name of a tool, "rapl", or the http address of a Prometheus exporter, and makes one reading to see that it works.
func NewSampler(ctx context.Context, source string, every time.Duration) (*Sampler, error) {
	s := &Sampler{every: every}
	s.log.Source = source
	switch argv := command(source); {
	case argv != nil:
		s.read = func(ctx context.Context) (*Log, error) { return runTool(ctx, argv) }
	case source == "rapl":
		s.read = func(context.Context) (*Log, error) { return readRAPL("/sys/class/powercap") }
	case strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://"):
		s.read = func(ctx context.Context) (*Log, error) { return scrape(ctx, source) }
	default:
		return nil, fmt.Errorf("power source %q is none of %s, nor an http address of a Prometheus exporter", source, strings.Join(Sources(), ", "))
	}
	first, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("power source %s: %w", source, err)
	}
	s.log.Samples = append(s.log.Samples, first.Samples...)
	return s, nil
}

// Start samples until Stop.
func (s *Sampler) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		t := time.NewTicker(s.every)
		defer t.Stop()
		for {
			s.once(ctx)
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
	}()
}

func (s *Sampler) once(ctx context.Context) {
	l, err := s.read(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil && s.failed == nil {
			s.failed = err // the gap it leaves is judged when energy is integrated
		}
		return
	}
	s.log.Samples = append(s.log.Samples, l.Samples...)
}

// Stop takes one last reading and returns the log.
func (s *Sampler) Stop() *Log {
	s.stop()
	<-s.done
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.once(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.log
	if s.failed != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("a power reading failed: %v", s.failed))
	}
	return &out
}

func runTool(ctx context.Context, argv []string) (*Log, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	before := time.Now()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, err
	}
	return Parse(argv[0], out, Options{UnixSeconds: unix(before.Add(time.Since(before) / 2))})
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func scrape(ctx context.Context, url string) (*Log, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 32<<20))
	if err != nil {
		return nil, err
	}
	return Parse("the exporter", text, Options{UnixSeconds: unix(time.Now())})
}

// readRAPL reads the processor packages' energy counters in microjoules. They wrap at max_energy_range_uj; the log keeps them as they are, so a
// wrap shows as a gap that fillWatts leaves out.
func readRAPL(root string) (*Log, error) {
	paths, err := filepath.Glob(filepath.Join(root, "intel-rapl:*", "energy_uj"))
	if err != nil {
		return nil, err
	}
	l := &Log{}
	now := unix(time.Now())
	for _, p := range paths {
		if strings.Count(filepath.Base(filepath.Dir(p)), ":") != 1 {
			continue // a part of a package is inside it already
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err // usually root only
		}
		uj, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		s := unknown()
		s.Device, s.UnixSeconds, s.EnergyJoules, s.Watts = filepath.Base(filepath.Dir(p)), now, uj/1e6, math.NaN()
		l.Samples = append(l.Samples, s)
	}
	if len(l.Samples) == 0 {
		return nil, fmt.Errorf("no energy counters under %s", root)
	}
	return l, nil
}
