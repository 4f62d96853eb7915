// get.mjs CLIENT URL...: fetches each URL and prints one JSON line for it. The proxy comes from
// the environment or, for those that do not read it, from an agent made here.
import { createRequire } from 'node:module';
import http from 'node:http';
import https from 'node:https';

const require = createRequire(process.env.CLIENT_MODULES + '/');
const [client, ...urls] = process.argv.slice(2);
const headers = { Authorization: 'Bearer ' + process.env.CLIENT_KEY };
const proxy = process.env.https_proxy;

const tell = (status, reason, body) => console.log(JSON.stringify({ status, reason: reason ?? null, body }));

async function withFetch(fetch, url, options = {}) {
  const answer = await fetch(url, { headers, ...options });
  tell(answer.status, answer.headers.get('x-namzu-reason'), await answer.text());
}

function withRequest(url, options = {}) {
  return new Promise((done, failed) => {
    const module = url.startsWith('https:') ? https : http;
    module.get(url, { headers, ...options }, async (answer) => {
      let body = '';
      for await (const piece of answer) body += piece;
      done(tell(answer.statusCode, answer.headers['x-namzu-reason'], body));
    }).on('error', failed);
  });
}

function undici(library, agent) {
  const dispatcher = agent(library);
  return (url) => withFetch(library.fetch, url, { dispatcher });
}

const envAgent = (library) => new library.EnvHttpProxyAgent();
const clients = {
  // Node's own, with NODE_USE_ENV_PROXY=1 in the environment (Node 24 or later).
  'node-http': () => withRequest,
  'node-fetch': () => (url) => withFetch(fetch, url),
  // Node's own, with an agent a scheme.
  'node-agents': () => {
    const { HttpProxyAgent } = require('http-proxy-agent');
    const { HttpsProxyAgent } = require('https-proxy-agent');
    const plain = new HttpProxyAgent(proxy), tunnel = new HttpsProxyAgent(proxy);
    return (url) => withRequest(url, { agent: url.startsWith('https:') ? tunnel : plain });
  },
  // https-proxy-agent for http:// URLs too: it tunnels them.
  'node-tunnel': () => {
    const { HttpsProxyAgent } = require('https-proxy-agent');
    const agent = new HttpsProxyAgent(proxy);
    return (url) => withRequest(url, { agent });
  },
  'undici7': () => undici(require('undici7'), (library) => new library.ProxyAgent(proxy)),
  'undici7-env': () => undici(require('undici7'), envAgent),
  'undici7-no-tunnel': () => undici(require('undici7'),
    (library) => new library.ProxyAgent({ uri: proxy, proxyTunnel: false })),
  'undici8': () => undici(require('undici8'), (library) => new library.ProxyAgent(proxy)),
  'undici8-env': () => undici(require('undici8'), envAgent),
  // Node's own fetch, undici's agent set for the whole process.
  'undici8-global': () => {
    require('undici8').setGlobalDispatcher(envAgent(require('undici8')));
    return (url) => withFetch(fetch, url);
  },
  'axios': () => async (url) => {
    const answer = await require('axios').get(url, { headers, validateStatus: () => true, responseType: 'text',
      transformResponse: (text) => text });
    tell(answer.status, answer.headers['x-namzu-reason'], answer.data);
  },
};

const get = clients[client]();
for (const url of urls) {
  try {
    await get(url);
  } catch (error) {
    const causes = [];
    for (let each = error; each; each = each.cause) causes.push(`${each.name}: ${each.message}`);
    console.log(JSON.stringify({ error: causes.join(' <- ') }));
  }
}
process.exit(0);
