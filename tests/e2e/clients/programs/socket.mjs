// socket.mjs AGENT URL: opens a WebSocket with ws, sends one message, prints what comes and closes.
import { createRequire } from 'node:module';

const require = createRequire(process.env.CLIENT_MODULES + '/');
const WebSocket = require('ws');
const { HttpProxyAgent } = require('http-proxy-agent');
const { HttpsProxyAgent } = require('https-proxy-agent');
const [kind, url] = process.argv.slice(2);
const agent = new (kind === 'http-proxy-agent' ? HttpProxyAgent : HttpsProxyAgent)(process.env.https_proxy);

const socket = new WebSocket(url, { agent, headers: { Authorization: 'Bearer ' + process.env.CLIENT_KEY } });
socket.on('open', () => socket.send('from the client'));
socket.on('message', (data) => {
  console.log('message', data.toString());
  if (data.toString() === 'from the client') socket.close(1000);
});
socket.on('close', (code) => console.log('closed', code));
socket.on('unexpected-response', (request, answer) => {
  console.log('refused', answer.statusCode, answer.headers['x-namzu-reason']);
  process.exit(1);
});
socket.on('error', (error) => {
  console.log('error', error.message);
  process.exit(1);
});
