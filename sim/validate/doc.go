// Package validate runs measured benchmark tables through the simulator, each under the load it was measured with, and
// scores the predictions. It never fits: a prediction uses the shipped profiles and what the table says of the set-up.
//
// A reader turns one table into jobs. A job is one simulation; it has one row to score, or several where one run was
// measured in parts. What can't be predicted is skipped and counted with its reason.
package validate
