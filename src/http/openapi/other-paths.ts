import type { Document, Operation, Parameter, Response, Schema } from './document.ts'
import { describeAccess, WORKSPACE } from './parameters.ts'
import { errorReferences, REQUEST_ID_HEADERS, successHeaders } from './responses.ts'
import type { AppRouter } from '../../router.ts'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import { TRPC_PREFIX } from '../paths.ts'
import { listProcedures } from '../rest.ts'

type Paths = Document['paths']

export const ID = '0199a7a0-0000-7000-8000-000000000001'

/** Subscriptions of the tRPC router: their items, and the input of an example. */
const SUBSCRIPTIONS: Record<string, { summary: string; items: string; input: object }> = {
  'conversations.follow': {
    summary: 'Subscribe to the messages of a conversation',
    items: 'new messages and changes of their delivery status',
    input: { conversationId: ID },
  },
  'runs.follow': {
    summary: 'Subscribe to the changes of a run',
    items: 'changes of the run, with the steps that changed',
    input: { runId: ID },
  },
  'broadcasts.follow': {
    summary: 'Subscribe to the progress of a broadcast',
    items: 'changes of the broadcast, with its counts and the number of recipients accepted per second',
    input: { broadcastId: ID },
  },
  'jobs.follow': {
    summary: 'Subscribe to the progress of a job',
    items: 'changes of the job, with its counts, at most about once a second while it runs',
    input: { jobId: ID },
  },
  'events.follow': {
    summary: 'Subscribe to the events of a workspace',
    items: 'events of the workspace, optionally only those of some types',
    input: { types: ['run.failed'] },
  },
}

/** Documents the subscriptions, which are served to tRPC clients only. */
export function subscriptionPaths(router: AppRouter): Paths {
  const procedures = listProcedures(router)
  return Object.fromEntries(
    Object.entries(SUBSCRIPTIONS).map(([name, subscription]) => [
      `${TRPC_PREFIX}/${name}`,
      { get: describeSubscription(name, { ...subscription, scope: procedures.get(name)?._def.meta?.scope }) },
    ]),
  )
}

function describeSubscription(
  name: string,
  { summary, items, input, scope }: { summary: string; items: string; input: object; scope: ApiScope | undefined },
): Operation {
  const schema: Schema = { type: 'string', description: 'Server-sent events' }
  const example = `event: connected\ndata: {}\n\ndata: {"json":{"type":"ready"}}\nid: 01\n\n`
  return {
    operationId: name,
    summary,
    description: `Streams ${items}. The first item is \`ready\`, or \`gap\` if events may be missing; later ones have IDs from which a client resumes with \`Last-Event-ID\`. A \`ping\` event is sent after 5 seconds without an item.`,
    tags: ['subscriptions'],
    ...describeAccess(scope),
    parameters: [
      {
        in: 'query',
        name: 'input',
        required: true,
        description: 'The input as JSON in the format of superjson',
        schema: { type: 'string' },
        example: JSON.stringify({ json: input }),
      },
      WORKSPACE,
    ],
    responses: {
      200: {
        description: 'The stream, until the client closes it or loses access',
        headers: REQUEST_ID_HEADERS,
        content: { 'text/event-stream': { schema, example } },
      },
      ...errorReferences(['400', '401', '403', '404', '429', '500', '503']),
    },
  }
}

const JSON_OBJECT: Schema = { type: 'object', additionalProperties: true }

export function pathId(name: string, description: string): Parameter {
  return { in: 'path', name, required: true, description, schema: { type: 'string', format: 'uuid' }, example: ID }
}

export function header(name: string, description: string, example: string): Parameter {
  return { in: 'header', name, description, schema: { type: 'string' }, example }
}

export function query(name: string, description: string, example: string): Parameter {
  return { in: 'query', name, required: true, description, schema: { type: 'string' }, example }
}

export function ok(description: string, example: object): Response {
  return {
    description,
    headers: REQUEST_ID_HEADERS,
    content: { 'application/json': { schema: JSON_OBJECT, example } },
  }
}

export function text(description: string, example: string): Response {
  const schema: Schema = { type: 'string' }
  return { description, headers: REQUEST_ID_HEADERS, content: { 'text/plain': { schema, example } } }
}

/** Documents the webhooks, which are outside the API: a signature or a secret decides instead of a session. */
export function webhookPaths(): Paths {
  return { ...whatsappPaths(), ...workflowWebhookPaths() }
}

function whatsappPaths(): Paths {
  const channelId = pathId('channelId', 'The channel; `webhookPath` of the channel contains it')
  return {
    '/inbound/whatsapp/{channelId}': {
      get: {
        operationId: 'webhooks.verifyWhatsapp',
        summary: 'Verify a WhatsApp webhook',
        description:
          'Called by Meta when the webhook is registered. Returns the challenge if the verify token is right.',
        tags: ['webhooks'],
        security: [],
        parameters: [
          channelId,
          query('hub.mode', 'Always `subscribe`', 'subscribe'),
          query('hub.verify_token', 'The verify token of the channel', 'choose-your-own'),
          query('hub.challenge', 'The text to return', '1158201444'),
        ],
        responses: {
          200: text('The challenge', '1158201444'),
          403: text('The verify token is wrong', 'Forbidden'),
          ...errorReferences(['404', '429', '503']),
        },
      },
      post: {
        operationId: 'webhooks.receiveWhatsapp',
        summary: 'Receive WhatsApp messages and statuses',
        description:
          'Called by Meta. Messages and statuses are committed before the answer; Meta repeats a call without it. A channel takes 512 MB of calls a minute.',
        tags: ['webhooks'],
        security: [],
        parameters: [
          channelId,
          header('X-Hub-Signature-256', 'HMAC-SHA256 of the body with the app secret', `sha256=${'0'.repeat(64)}`),
        ],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: JSON_OBJECT, example: { object: 'whatsapp_business_account', entry: [] } },
          },
        },
        responses: {
          200: ok('The call is stored', {}),
          ...errorReferences(['400', '401', '404', '413', '429', '500', '503']),
        },
      },
    },
  }
}

function workflowWebhookPaths(): Paths {
  return {
    '/inbound/webhooks/{webhookId}': {
      post: {
        operationId: 'webhooks.startWorkflow',
        summary: 'Start a workflow by its webhook',
        description:
          'The body is the input of the run. Sign the call, or send the secret as a bearer token; `POST /api/workflows/{workflowId}/webhook/rotate-secret` returns it.',
        tags: ['webhooks'],
        security: [],
        parameters: [
          pathId('webhookId', 'The webhook; `webhookPath` of the workflow contains it'),
          header(
            'X-Parley-Signature',
            'Unix time, and the HMAC-SHA256 of `<time>.<body>` with the secret in hexadecimal',
            `t=1772445600,v1=${'0'.repeat(64)}`,
          ),
        ],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: JSON_OBJECT, example: { order: { id: 4711, total: 120 } } } },
        },
        responses: {
          200: ok('A call with the same `dedupeKey` was accepted before', { runId: null, duplicate: true }),
          202: ok('A run is queued', { runId: ID }),
          ...errorReferences(['400', '401', '409', '413', '422', '429', '500', '503']),
        },
      },
    },
  }
}

/** Documents the stream of events, which any client of server-sent events reads. */
export function eventStreamPaths(): Paths {
  const id = `42-${ID}`
  const example = `retry: 1000\n\nevent: ready\nid: ${id}\ndata: {}\n\nevent: message.received\nid: 43-${ID}\ndata: {"id":"${ID}","type":"message.received","data":{"messageId":"${ID}"},"at":"2026-03-02T10:00:00.000Z"}\n\n`
  return {
    '/api/events/stream': {
      get: {
        operationId: 'events.stream',
        summary: 'Stream events',
        description:
          'Server-sent events: the type of each event is its name, and its ID the position from which the client resumes with `Last-Event-ID`. The first is `ready`, or `gap` if events after the position may be missing; `end` is the last, with the error that ends the stream as its data. A comment is sent after 5 to 10 seconds without an event.',
        tags: ['events'],
        ...describeAccess('events:read'),
        parameters: [
          { ...query('types', 'Types or patterns such as `message.*`; may be repeated', 'message.*'), required: false },
          {
            ...query(
              'after',
              'The position to begin after: `nextCursor` of the list, an ID of the stream, or `latest`',
              id,
            ),
            required: false,
          },
          header('Last-Event-ID', 'The same, as browsers send it when they connect again', id),
          {
            ...query('tenantId', 'The workspace, for an EventSource, which sends no headers', ID),
            required: false,
            schema: { type: 'string', format: 'uuid' },
          },
          WORKSPACE,
        ],
        responses: {
          200: {
            description: 'The stream, until the client closes it or loses access',
            headers: successHeaders({}),
            content: { 'text/event-stream': { schema: { type: 'string' }, example } },
          },
          ...errorReferences(['400', '401', '403', '429', '500', '503']),
        },
      },
    },
  }
}
