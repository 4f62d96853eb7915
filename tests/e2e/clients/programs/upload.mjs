// upload.mjs CLIENT URL: a body of unknown length, made by a generator.
import { createRequire } from 'node:module';

const require = createRequire(process.env.CLIENT_MODULES + '/');
const [client, url] = process.argv.slice(2);
async function* pieces() {
  for (let number = 0; number < 64; number++) yield Buffer.from(String(number).padStart(8, '0').repeat(128));
}
const { fetch, EnvHttpProxyAgent } = require(client);
const answer = await fetch(url, { dispatcher: new EnvHttpProxyAgent(), method: 'POST', duplex: 'half', body: pieces() });
console.log(answer.status, await answer.text());
