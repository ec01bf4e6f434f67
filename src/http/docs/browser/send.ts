import { readApiKey, readField, readWorkspaceId } from './access.ts'
import { type Child, create, createCode } from './elements.ts'
import { type Call, listHeaders, toPath } from './snippets.ts'

/** Bodies are shown up to this length. */
const SHOWN_MAX = 200_000

/** The codes of errors whose bodies have none. */
const CODES: Record<number, string> = { 401: 'unauthorized', 403: 'forbidden', 429: 'rate_limited' }

/** Sends a call to this server, with the API key or the session, and describes the response. */
export async function send(call: Call, file: Blob | undefined): Promise<Child> {
  const apiKey = readApiKey()
  const workspaceId = readWorkspaceId()
  const headers = new Headers(listHeaders(call))
  if (apiKey) headers.set('authorization', `Bearer ${apiKey}`)
  else if (workspaceId) headers.set('x-tenant-id', workspaceId)
  const startedMs = performance.now()
  const response = await fetch(toPath(call), {
    method: call.method.toUpperCase(),
    headers,
    credentials: apiKey ? 'omit' : 'same-origin',
    ...(call.contentType === undefined ? {} : { body: file ?? call.body }),
  })
  const blob = await response.blob()
  return describe(response, blob, performance.now() - startedMs)
}

async function describe(response: Response, blob: Blob, ms: number): Promise<Child> {
  const { status, statusText, headers } = response
  const left = headers.get('ratelimit-remaining')
  const parts = [
    `${status} ${statusText}`.trim(),
    `${Math.round(ms)} ms`,
    `${blob.size} bytes`,
    ...(left === null ? [] : [`${left} of ${headers.get('ratelimit-limit')} calls left`]),
  ]
  const isText = /json|text/.test(blob.type)
  const text = isText ? await blob.slice(0, SHOWN_MAX).text() : ''
  const body = /json/.test(blob.type) && !/ndjson/.test(blob.type) && blob.size <= SHOWN_MAX ? parse(text) : undefined
  const shown = body === undefined ? text : JSON.stringify(body, null, 2)
  const cut = isText && blob.size > SHOWN_MAX ? `Only the first ${SHOWN_MAX} bytes are shown.` : undefined
  return [
    create('p', { class: response.ok ? 'success' : 'failure' }, parts.join(' · ')),
    response.ok ? undefined : explain(status, body),
    cut === undefined ? undefined : create('p', {}, cut),
    shown ? createCode(shown) : undefined,
  ]
}

/** Shows an error and leads to the explanation of its code. */
function explain(status: number, body: unknown): Child {
  const code = readField(body, 'code') ?? CODES[status]
  if (typeof code !== 'string') return undefined
  const link = create('a', { href: `/docs/errors#${encodeURIComponent(code)}` }, create('code', {}, code))
  return create('p', {}, String(readField(body, 'error')), ' – ', link)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Calls that delete, send, publish or end something, which cannot be undone. */
const RISKY =
  /delete|remove|revoke|leave|disable|cancel|discard|rotate|publish|upsert|send|submit|bulk|import|start|signal|replay|redeliver|recover|test$|retry|archive|retention/i

/** Returns true for a call that is confirmed before it is sent. */
export function isRisky({ method, scope, id }: { method: string; scope: string | undefined; id: string }): boolean {
  if (method === 'get') return false
  return method === 'delete' || /:(?:send|delete)$/.test(scope ?? '') || RISKY.test(id.split('.').at(-1) ?? '')
}

/** Asks before a call. Escape and the button that has the focus first cancel it. */
export function confirmCall(question: string): Promise<boolean> {
  const cancel = create('button', { type: 'button', autofocus: true }, 'Cancel')
  const go = create('button', { type: 'button', class: 'primary' }, 'Send')
  const dialog = create(
    'dialog',
    { 'aria-labelledby': 'question' },
    create('p', { id: 'question' }, question),
    cancel,
    ' ',
    go,
  )
  document.body.append(dialog)
  dialog.showModal()
  return new Promise((resolve) => {
    cancel.addEventListener('click', () => dialog.close())
    go.addEventListener('click', () => dialog.close('send'))
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'send')
    })
  })
}
