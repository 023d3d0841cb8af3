"use strict";
// The formula of plan.Levers: every component is linear in the price and in the energy bill.
const D = JSON.parse(document.getElementById("levers").textContent);
const $ = id => document.getElementById(id);
const at = (P, u) => {                       // tokens and energy at a utilisation, linear between points
  if (u <= P[0].utilisation) return P[0];
  for (let i = 1; i < P.length; i++) {
    const a = P[i - 1], b = P[i];
    if (u > b.utilisation) continue;
    const t = (u - a.utilisation) / (b.utilisation - a.utilisation), mix = k => a[k] + t * (b[k] - a[k]);
    return { input_tokens: mix("input_tokens"), output_tokens: mix("output_tokens"), it_kwh: mix("it_kwh") };
  }
  return P[P.length - 1];
};
const move = (c, price, tariff, pue, u) => {
  const L = c.levers, now = at(L.points, u), self = L.points[L.points_self];
  const bill = now.it_kwh * pue * tariff, planned = self.it_kwh * L.pue * L.usd_per_kwh;
  let tco = 0;
  for (const k of c.components) tco += k.usd + (k.per_price || 0) * (price - L.price) + (k.per_energy || 0) * (bill - planned);
  const tokens = now.input_tokens + now.output_tokens, perM = tokens > 0 ? tco * 1e6 / tokens : 0;
  const class_ = v => c.per_m > 0 ? v * perM / c.per_m : 0;
  return { tco, monthly: tco / Math.max(1, c.months), perM, perMIn: class_(c.per_m_in), perMOut: class_(c.per_m_out) };
};
const group = s => s.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
const usd = (v, d) => { const [w, f] = Math.abs(v).toFixed(d).split("."); return (v < 0 ? "-$" : "$") + group(w) + (f ? "." + f : ""); };
const names = ["price", "tariff", "pue", "utilisation"];
const planned = c => ({ price: c.levers.price, tariff: c.levers.usd_per_kwh, pue: c.levers.pue, utilisation: c.levers.points[c.levers.points_self].utilisation });
const current = () => D[+$("which").value];
function ranges(c, values) {                 // a slider runs from nothing to three times the plan, utilisation over its points
  const p = planned(c), P = c.levers.points;
  const span = { price: [0, 3 * p.price || 1], tariff: [0, Math.max(0.5, 3 * p.tariff)], pue: [1, Math.max(2, p.pue)], utilisation: [P[0].utilisation, P[P.length - 1].utilisation] };
  for (const n of names) {
    const e = $(n), v = values[n] ?? p[n];
    [e.min, e.max] = span[n]; e.step = "any"; e.value = v; e.dataset.v = v;
  }
  const powered = c.components.some(k => k.per_energy);   // else the rent carries the energy
  for (const n of ["tariff", "pue"]) for (const e of [$(n), $(n + "-now"), document.querySelector(`label[for=${n}]`)]) e.hidden = !powered;
  $("price-name").textContent = c.levers.price_name + ", " + c.levers.price_unit;
}
function draw() {
  const c = current(), v = {};
  for (const n of names) v[n] = +$(n).dataset.v;
  const m = move(c, v.price, v.tariff, v.pue, v.utilisation);
  $("price-now").textContent = usd(v.price, v.price < 100 ? 2 : 0);
  $("tariff-now").textContent = usd(v.tariff, 3) + "/kWh";
  $("pue-now").textContent = v.pue.toFixed(2);
  $("utilisation-now").textContent = (100 * v.utilisation).toFixed(1) + " %";
  const out = { "out-perm": [m.perM, 4], "out-in": [m.perMIn, 4], "out-out": [m.perMOut, 4], "out-tco": [m.tco, 2], "out-month": [m.monthly, 2] };
  for (const id in out) $(id).textContent = usd(out[id][0], out[id][1]);
  const change = c.per_m > 0 ? Math.round(1000 * (m.perM / c.per_m - 1)) / 10 + 0 : 0;
  $("out-change").textContent = (change > 0 ? "+" : "") + change.toFixed(1) + " %";
}
function read(hash) {                        // #which=0&price=30000&tariff=0.1: a what-if to send on
  const out = {};
  for (const part of hash.slice(1).split("&")) { const [k, v] = part.split("="); if (v !== undefined && isFinite(+v)) out[k] = +v; }
  return out;
}
if (D.length) {
  const start = read(location.hash);
  D.forEach((c, i) => { const o = document.createElement("option"); o.value = i; o.textContent = c.name; $("which").append(o); });
  $("which").value = start.which in D ? start.which : 0;
  ranges(current(), start);
  for (const n of names) $(n).addEventListener("input", e => { e.target.dataset.v = e.target.value; draw(); });
  $("which").addEventListener("change", () => { ranges(current(), {}); draw(); });
  $("reset").addEventListener("click", () => { ranges(current(), {}); draw(); });
  draw();
}
