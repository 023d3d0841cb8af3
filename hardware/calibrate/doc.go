// Package calibrate turns a short measured run into a profile: it finds the factors on the physical parts of a deployment's step
// times (hardware.Factors) with which simulated records look like the measured ones, says how sure it is of each, which of them
// the run can't tell apart, and how far off the result was on a part of the run it never saw.
//
// The fit is a bounded nonlinear least squares of logarithmic errors with Huber's loss, penalised towards the shipped profile:
//
//	min over u:  sum_i rho(log(predicted_i(u) / measured_i) / sigma_i) + 1/2 sum_k (u_k / spread_k)^2
//
// where factor_k = prior_k exp(b_k tanh(u_k / b_k)) stays within exp(+-b_k) of its prior. Predictions come from the simulator under
// the very load that was measured, so queueing, batching and chunking are not part of what is fitted.
//
// The package stands above the simulator, on the floor of sim/capacity, although it deals in hardware.
package calibrate
