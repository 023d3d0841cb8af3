// A scheduler of continuous batches over llama.cpp: one llama_decode a step holds the next token of every running request and, in
// what is left of a token budget, chunks of prompts in order of arrival.
//
// It drives the native context below the public API of node-llama-cpp, whose own batching gains little here: llama.cpp merges
// sequences into one micro-batch only when their ids ascend without a gap. So running requests hold the ids 0..n-1, and the last
// one moves into the place of one that ends. Hence the exact version in package.json.
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

export async function loadEngine({file, maxSequences, context, budget, threads}) {
    const llama = await getLlama({gpu: false, build: "never", skipDownload: true, maxThreads: threads, logLevel: LlamaLogLevel.error});
    const model = await llama.loadModel({modelPath: file});
    const native = await model.createContext({
        sequences: maxSequences, contextSize: context, batchSize: budget, threads: {ideal: threads, min: threads}, flashAttention: false
    });
    const samplers = [];
    for (let i = 0; i < maxSequences; i++) samplers.push(new llama._bindings.AddonSampler(model._model));
    return new Engine(model, native._ctx, samplers, budget);
}

class Engine {
    constructor(model, ctx, samplers, budget) {
        Object.assign(this, {model, ctx, samplers, budget, queue: [], active: [], busy: false, steps: 0});
    }

    // request: {tokens, limit, ignoreEnd, token(id), done(error, reason)}. The result cancels it.
    submit(request) {
        const entry = {request, pending: request.tokens, stored: 0, made: 0, over: false, sampler: null};
        this.queue.push(entry);
        if (!this.busy) this.run();
        return () => { entry.over = true; };
    }

    async run() {
        this.busy = true;
        try {
            for (;;) {
                await this.release();
                this.queue = this.queue.filter((e) => !e.over);
                while (this.samplers.length > 0 && this.queue.length > 0) {
                    const e = this.queue.shift();
                    e.sampler = this.samplers.pop();
                    e.sampler.applyConfig({temperature: 0});
                    this.active.push(e);
                }
                if (this.active.length === 0) break;
                await this.step();
            }
        } catch (error) {
            const all = [...this.active, ...this.queue];
            this.active.forEach((e, id) => { this.samplers.push(e.sampler); this.ctx.disposeSequence(id); });
            this.active = [];
            this.queue = [];
            for (const e of all) if (!e.over) e.request.done(error);
        }
        this.busy = false;
    }

    // release frees the places of requests that are over and keeps the ids dense.
    async release() {
        for (let id = this.active.length - 1; id >= 0; id--) {
            const e = this.active[id];
            if (!e.over) continue;
            this.samplers.push(e.sampler);
            this.ctx.disposeSequence(id);
            const last = this.active.pop();
            if (last !== e) {
                await this.ctx.copySequenceStateFromOtherSequence(id, this.active.length);
                this.ctx.disposeSequence(this.active.length);
                this.active[id] = last;
            }
        }
    }

    async step() {
        // Running answers first, one token each; then prompts, oldest first.
        let left = this.budget;
        const share = new Map();
        for (const e of this.active) if (e.made > 0) { share.set(e, 1); left--; }
        for (const e of this.active.filter((e) => e.made === 0).sort((a, b) => a.request.number - b.request.number)) {
            const n = Math.min(left, e.pending.length);
            if (n === 0) break;
            share.set(e, n);
            left -= n;
        }
        this.ctx.initBatch(this.budget - left);
        const ready = [];
        this.active.forEach((e, id) => {
            const n = share.get(e);
            if (!n) return;
            const whole = n === e.pending.length;
            const [place] = this.ctx.addToBatch(id, e.stored, Uint32Array.from(e.pending.slice(0, n)), Uint32Array.from(whole ? [n - 1] : []));
            e.stored += n;
            e.pending = e.pending.slice(n);
            if (whole) ready.push([e, place]);
        });
        await this.ctx.decodeBatch();
        const ids = await Promise.all(ready.map(([e, place]) => this.ctx.sampleToken(place, e.sampler)));
        ready.forEach(([e], i) => this.deliver(e, ids[i]));
        this.steps++;
    }

    deliver(e, id) {
        if (e.over) return;
        if (id < 0) throw new Error("llama.cpp could not sample a token");
        e.made++;
        e.pending = [id];
        const end = !e.request.ignoreEnd && this.model.isEogToken(id);
        if (!end) e.request.token(id);
        if (end || e.made >= e.request.limit) {
            e.over = true;
            e.request.done(null, end ? "stop" : "length");
        }
    }
}
