// stream.mjs CLIENT URL: a streamed request as the JavaScript SDKs send it with fetch; each event is
// printed as it comes. CLIENT: undici7 or undici8 (their EnvHttpProxyAgent), or node (Node's own).
import { createRequire } from 'node:module';

const require = createRequire(process.env.CLIENT_MODULES + '/');
const [client, url] = process.argv.slice(2);
const library = client === 'node' ? null : require(client);
const options = library ? { dispatcher: new library.EnvHttpProxyAgent() } : {};
const answer = await (library ?? globalThis).fetch(url, {
  ...options,
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': process.env.CLIENT_KEY,
    authorization: 'Bearer ' + process.env.CLIENT_KEY },
  body: JSON.stringify({ model: 'a-model', stream: true, messages: [{ role: 'user', content: 'hello' }] }),
});
console.log(answer.status, answer.headers.get('content-type'), answer.headers.get('x-namzu-reason') ?? 'None');
let text = '';
for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
  text += piece;
  const lines = text.split('\n');
  text = lines.pop();
  for (const line of lines) if (line.startsWith('data: ')) console.log(line);
}
if (answer.status === 200) console.log('whole');
process.exit(answer.status === 200 ? 0 : 1);
