// Serves the built page and the API that it expects, of a fleet that is made up: to work on the page, and to test it.
//   node mock/server.mjs --clusters 10000 --seed 1 --port 5180 --speed 20 [--read-only] [--still]
// Tests misuse it by POST /mock/…: cut, refuse, accept, expire, step, reset, forbid, remove, gone, set.

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import * as answers from './answers.mjs';
import { MockFleet } from './fleet.mjs';

const DIST = fileURLToPath(new URL('../dist', import.meta.url));
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Starts a server; `port` 0 takes a free one. */
export async function start({ clusters = 120, seed = 1, port = 0, speed = 20, still = false, readOnly = false, now = Math.floor(Date.now() / 1000) } = {}) {
  const state = { fleet: new MockFleet({ clusters, seed, now }), readOnly, speed: still ? 1 : speed, token: 'mock', refusing: false, forbidden: '', streams: new Set(), changes: [], asked: /** @type {string[]} */ ([]) };
  const server = createServer((request, response) => {
    serve(state, request, response).catch((cause) => {
      console.error(cause);
      if (!response.headersSent) json(response, 500, { error: String(cause) });
    });
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const timers = [setInterval(() => state.streams.forEach((stream) => stream.write(': still here\n\n')), 15_000)];
  if (!still) timers.push(setInterval(() => publish(state, state.fleet.step(speed)), 1000));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    state,
    stop() {
      timers.forEach(clearInterval);
      state.streams.forEach((stream) => stream.destroy());
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

async function serve(state, request, response) {
  const url = new URL(request.url, 'http://mock');
  const path = url.pathname;
  if (path.startsWith('/mock/')) return misuse(state, path.slice(6), await body(request), response);
  if (!path.startsWith('/api/')) return file(path, request, response);
  state.asked.push(`${request.method} ${path}`);
  if (state.refusing) return request.socket.destroy();
  if (request.headers.authorization !== `Bearer ${state.token}`) {
    response.setHeader('WWW-Authenticate', state.hub ? 'Bearer realm="hub"' : 'Bearer');
    return json(response, 401, { error: 'the token is not valid, or not any more' });
  }
  if (state.forbidden && path.startsWith(state.forbidden)) return json(response, 403, { error: `you may not read ManagedClustersUpgrades in namespace "secret"` });
  return api(state, request, url, response);
}

async function api(state, request, url, response) {
  const { fleet } = state;
  const path = url.pathname.slice('/api/'.length).split('/').map(decodeURIComponent);
  const ok = (value) => json(response, 200, value);
  const post = request.method === 'POST' ? await body(request) : undefined;
  switch (path[0]) {
    case 'session':
      return ok({ user: 'ann@example.com', readOnly: state.readOnly, where: 'https://hub.example.com:6443', sandbox: false, speed: state.speed, docs: 'https://docs.example.com/drydock' });
    case 'snapshot':
      return ok({ revision: fleet.revision, now: fleet.now, upgrades: [...fleet.targets.keys()].map((key) => answers.upgrade(fleet, key)), clusters: answers.columns(fleet.clusters.values()) });
    case 'changes':
      return follow(state, Number(url.searchParams.get('since')), response);
    case 'history':
      return ok(answers.history(fleet));
    case 'clusters': {
      const found = answers.clusterDetail(fleet, path[1]);
      return found ? ok(found) : json(response, 404, { error: `there is no cluster ${path[1]}` });
    }
    case 'plan':
      if (post.yaml.includes('version: none')) return json(response, 400, { error: 'spec.clusterVersion.version: "none" is not a version' });
      return ok({ plans: [planned(fleet, post.yaml, 1), ...(post.compare ? [planned(fleet, post.compare, 1.4)] : [])] });
    case 'preview':
      return write(state, post, response, true);
    case 'apply':
      return write(state, post, response, false);
    case 'upgrades':
      return upgrades(state, `${path[1]}/${path[2]}`, path[3], post, response);
  }
  return json(response, 404, { error: 'there is no such page' });
}

/** The forecast of a text, as far as the tests write it. */
function planned(fleet, yaml, slower) {
  const { key, target } = read(yaml) ?? { key: 'default/spring', target: '4.18.9' };
  return answers.forecast(fleet, key, `${key} to ${target.split(' ')[0]}`, slower);
}

/** What a text says of itself, as far as the tests write it. */
function read(yaml) {
  const of = (field) => new RegExp(`\\b${field}: *['"]?([^'"\\s,}]+)`).exec(yaml)?.[1];
  if (!of('name')) return undefined;
  const target = ['version', 'image', 'channel'].flatMap((field) => of(field) ?? []).join(' ');
  return { key: `${of('namespace') ?? 'default'}/${of('name')}`, target, allOperators: of('approveAllUpgrades') === 'true' };
}

/** Writes a text, or says what that would do. `default/spring` was made by kubectl apply. */
function write(state, { yaml, opened, takeOver = false, seen }, response, dry) {
  const { fleet } = state;
  const text = read(yaml);
  if (!text) return json(response, 422, { error: 'this is no ManagedClustersUpgrade: it has no metadata.name that is a name of an object' });
  const { key } = text;
  const edits = opened?.upgrade === key;
  const now = fleet.targets.has(key) ? answers.edition(fleet, key) : '';
  if (edits && opened.edition !== now) return json(response, 409, { error: `somebody has changed or deleted ${key} since you opened it` });
  if (seen !== undefined && seen !== now) return json(response, 409, { error: `somebody has created, changed or deleted ${key} since you were asked: nothing is applied` });
  if (!edits && !takeOver && key === 'default/spring') {
    return json(response, 409, { error: 'others manage fields of default/spring: conflict with "kubectl-client-side-apply"', reason: 'FieldsOfOthers' });
  }
  if (!dry) return json(response, 200, { done: `${key} applied` });
  const before = fleet.targets.get(key);
  const after = text.target.split(' ')[0];
  const changes = before !== undefined && before !== after ? [{ field: 'spec.clusterVersion.version', before, after }] : [];
  return json(response, 200, { ...text, edits, seen: now, ...(before === undefined ? {} : { targetBefore: text.target.replace(after, before) }), staysPaused: !edits && fleet.paused.has(key), changes, more: 0 });
}

function upgrades(state, key, action, post, response) {
  const { fleet } = state;
  const ok = (value) => json(response, 200, value);
  if (!fleet.targets.has(key)) return json(response, 404, { error: `there is no ManagedClustersUpgrade ${key}` });
  switch (action) {
    case undefined:
      return ok(answers.upgradeDetail(fleet, key));
    case 'forecast':
      return ok(answers.forecast(fleet, key, `${key.split('/')[1]} to ${fleet.targets.get(key)}`));
    case 'pause':
      fleet.paused.add(key);
      fleet.edited(key);
      fleet.event('Normal', 'Paused', 'paused by ann@example.com');
      publish(state, []);
      return ok({ done: `${key} paused` });
    case 'resume':
      if (post.generation !== answers.upgrade(fleet, key).generation) return json(response, 409, { error: `${key} has been edited since you were asked: nothing is done` });
      fleet.paused.delete(key);
      fleet.edited(key);
      publish(state, []);
      return ok({ done: `${key} resumed` });
    case 'retry': {
      if (post.cluster === undefined && post.failed !== answers.failedSet(fleet, key)) return json(response, 409, { error: `other clusters of ${key} have failed than when you were asked` });
      const failed = fleet.of(key).filter((cluster) => cluster.state === 'Failed' && (!post.cluster || cluster.name === post.cluster));
      if (failed.length === 0) return json(response, 409, { error: `${post.cluster ?? 'no cluster'} has not failed` });
      failed.forEach((cluster) => fleet.wait(cluster));
      publish(state, failed);
      return ok({ done: post.cluster ? `${key}: ${post.cluster} starts over` : `${key}: ${failed.length} failed clusters start over` });
    }
    case 'accept':
      if (post.target !== fleet.targets.get(key)) return json(response, 409, { error: `the target of ${key} has changed since you were asked` });
      if (post.reporters !== answers.upgradeDetail(fleet, key).findings.find((one) => one.name === post.finding)?.reporters) return json(response, 409, { error: 'other clusters report this finding than when you were asked' });
      fleet.accepted.push({ finding: post.finding, level: 'Warning', on: 'all clusters', endedOn: '', reason: post.reason, acceptedBy: 'ann@example.com', until: post.until, target: post.target, counts: true });
      publish(state, []);
      return ok({ done: `${post.finding} accepted by ann@example.com` });
  }
  return json(response, 404, { error: 'there is no such page' });
}

/** Tells all pages what has changed. */
export function publish(state, clusters, more = {}) {
  const { fleet } = state;
  fleet.revision++;
  const change = {
    revision: fleet.revision,
    now: fleet.now,
    upgrades: [...fleet.targets.keys()].map((key) => answers.upgrade(fleet, key)),
    ...(clusters.length ? { clusters: answers.columns(clusters) } : {}),
    ...more,
  };
  state.changes.push(change);
  // A server does not remember for ever: who comes later takes a new snapshot.
  if (state.changes.length > 100) state.changes.shift();
  for (const stream of state.streams) send(stream, change);
}

function send(stream, change) {
  stream.write(`id: ${change.revision}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`);
}

function follow(state, since, response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  response.write(': hello\n\n');
  const known = state.changes[0]?.revision ?? state.fleet.revision + 1;
  if (since > state.fleet.revision || since + 1 < known) response.write('event: reset\ndata: {}\n\n');
  else for (const change of state.changes) if (change.revision > since) send(response, change);
  state.streams.add(response);
  response.on('close', () => state.streams.delete(response));
}

function misuse(state, what, post, response) {
  const cut = () => state.streams.forEach((stream) => stream.destroy());
  switch (what) {
    case 'cut':
      cut();
      break;
    case 'refuse':
      state.refusing = true;
      cut();
      break;
    case 'accept':
      state.refusing = false;
      break;
    case 'expire':
      state.token = 'another';
      cut();
      break;
    case 'hub':
      state.hub = true;
      break;
    case 'forbid':
      state.forbidden = post.path ?? '/api/snapshot';
      break;
    case 'step':
      publish(state, state.fleet.step(post.seconds ?? 60));
      break;
    case 'reset':
      state.changes = [];
      state.fleet.revision += 100;
      break;
    case 'remove':
      post.names.forEach((name) => state.fleet.clusters.delete(name));
      publish(state, [], { removedClusters: post.names });
      break;
    case 'gone':
      // An upgrade is deleted: its clusters stay, and are not selected any more.
      state.fleet.targets.delete(post.key);
      publish(state, state.fleet.of(post.key).map((cluster) => Object.assign(cluster, { upgrade: '', state: '' })), { removedUpgrades: [post.key] });
      break;
    case 'set': {
      const cluster = state.fleet.clusters.get(post.name);
      Object.assign(cluster, post.values);
      publish(state, [cluster]);
      break;
    }
  }
  return json(response, 200, { revision: state.fleet.revision, streams: state.streams.size });
}

function file(path, request, response) {
  const name = normalize(path === '/' ? '/index.html' : path);
  const where = join(DIST, name);
  if (!where.startsWith(DIST) || !existsSync(where) || !statSync(where).isFile()) return json(response, 404, { error: 'there is no such file' });
  const packed = existsSync(`${where}.gz`) && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  response.writeHead(200, {
    'Content-Type': TYPES[extname(where)] ?? 'application/octet-stream',
    'Content-Security-Policy': CSP,
    'X-Content-Type-Options': 'nosniff',
    ...(packed ? { 'Content-Encoding': 'gzip' } : {}),
  });
  return createReadStream(packed ? `${where}.gz` : where).pipe(response);
}

/** Compressed where it is worth it, as the real server does. */
function json(response, status, value) {
  const text = JSON.stringify(value);
  const large = text.length > 10_000;
  response.writeHead(status, { 'Content-Type': 'application/json', ...(large ? { 'Content-Encoding': 'gzip' } : {}) });
  response.end(large ? gzipSync(text) : text);
}

async function body(request) {
  let text = '';
  for await (const piece of request) text += piece;
  return text === '' ? {} : JSON.parse(text);
}

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const flag = (name) => process.argv.includes(`--${name}`);
  const { url } = await start({ clusters: option('clusters', 120), seed: option('seed', 1), port: option('port', 5180), speed: option('speed', 20), still: flag('still'), readOnly: flag('read-only') });
  console.log(`${url}#token=mock`);
}
