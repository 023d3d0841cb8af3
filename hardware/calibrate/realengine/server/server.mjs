// node server.mjs MODEL.gguf MAX_SEQUENCES CONTEXT BUDGET THREADS
// Serves POST /v1/completions (streams) and GET /v1/models on a free port of 127.0.0.1, and prints "listening PORT".
import http from "node:http";
import {loadEngine} from "./engine.mjs";

const [file, maxSequences, context, budget, threads] = process.argv.slice(2).map((v, i) => i === 0 ? v : Number(v));
const engine = await loadEngine({file, maxSequences, context, budget, threads});
const name = "random-weights";
const words = new Map(); // token id -> its text, never empty, so that each token is an event of its own
let requests = 0;

function word(id) {
    if (!words.has(id)) words.set(id, engine.model.detokenize([id], true) || "?");
    return words.get(id);
}

function answer(response, status, value) {
    response.writeHead(status, {"content-type": "application/json"});
    response.end(JSON.stringify(value));
}

async function body(request) {
    let text = "";
    for await (const part of request) text += part;
    return JSON.parse(text);
}

function complete(asked, response) {
    const tokens = typeof asked.prompt === "string" ? engine.model.tokenize(asked.prompt, false) : asked.prompt;
    const limit = asked.max_completion_tokens ?? asked.max_tokens ?? 16;
    if (!Array.isArray(tokens) || tokens.length === 0 || !(limit >= 1) || tokens.length + limit > context)
        return answer(response, 400, {error: {message: `a prompt and max_tokens of together at most ${context} tokens are needed`}});
    if (asked.stream !== true)
        return answer(response, 400, {error: {message: "only streams are served"}});
    const id = `cmpl-${++requests}`;
    const event = (value) => response.write(`data: ${JSON.stringify({id, object: "text_completion", model: name, ...value})}\n\n`);
    const choice = (text, reason) => [{index: 0, text, finish_reason: reason}];
    let made = 0;
    response.writeHead(200, {"content-type": "text/event-stream"});
    response.flushHeaders();
    const cancel = engine.submit({
        number: requests, tokens, limit, ignoreEnd: asked.ignore_eos === true,
        token(id) { made++; event({choices: choice(word(id), null)}); },
        done(error, reason) {
            if (error) { event({error: {message: String(error), code: 500}}); response.end(); return; }
            event({choices: choice("", reason)});
            if (asked.stream_options?.include_usage)
                event({choices: [], usage: {prompt_tokens: tokens.length, completion_tokens: made, total_tokens: tokens.length + made}});
            response.end("data: [DONE]\n\n");
        }
    });
    response.on("close", cancel);
}

const server = http.createServer(async (request, response) => {
    try {
        if (request.method === "GET" && request.url === "/v1/models")
            answer(response, 200, {object: "list", data: [{id: name, object: "model", owned_by: "llama.cpp", max_model_len: context}]});
        else if (request.method === "POST" && request.url === "/v1/completions")
            complete(await body(request), response);
        else answer(response, 404, {error: {message: "not found"}});
    } catch (error) {
        if (response.headersSent) response.destroy();
        else answer(response, 400, {error: {message: String(error)}});
    }
});
server.on("connection", (socket) => socket.setNoDelay(true));
server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
