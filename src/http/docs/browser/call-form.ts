import type { Document, Operation, Parameter, Reference, Schema } from '../../openapi/document.ts'
import { createAccessButton, readApiKey, readWorkspaceId } from './access.ts'
import { type Child, create, createCopyButton, toInline } from './elements.ts'
import { describeBounds, describeType, listValues, readName, viewSchema } from './schema-view.ts'
import { confirmCall, isRisky, send } from './send.ts'
import { type Call, toCurl, toFetch, toTrpc } from './snippets.ts'

/** An operation of the document with its method, its path and the kind of its procedure. */
export type Endpoint = { method: string; path: string; operation: Operation; kind: string | undefined }

type Field = { parameter: Parameter; input: HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement }

/** Called when the access or the form changes. */
let refresh = (): void => undefined

export function refreshSnippets(): void {
  refresh()
}

export function resolveParameter(parameter: Parameter | Reference, document: Document): Parameter | undefined {
  return '$ref' in parameter ? document.components.parameters[readName(parameter.$ref)] : parameter
}

/** Shows the parameters and the body as a form, and the call that it makes. */
export function viewCall(endpoint: Endpoint, document: Document): Child {
  const { operation } = endpoint
  const parameters = (operation.parameters ?? []).flatMap((parameter) => resolveParameter(parameter, document) ?? [])
  const fields = parameters
    .filter(({ name }) => name !== 'x-tenant-id')
    .map((parameter) => ({ parameter, input: createInput(parameter) }))
  const [contentType, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const body = create('textarea', { id: 'body', spellcheck: 'false', rows: '10' })
  const file = create('input', { id: 'file', type: 'file' })
  if (media && contentType === 'application/json') body.value = JSON.stringify(media.example ?? {}, null, 2)
  body.rows = Math.min(24, body.value.split('\n').length + 1)
  const isFile = contentType !== undefined && contentType !== 'application/json'
  const readCall = () => toCall(endpoint, { fields, contentType, body: body.value })
  return [
    fields.length > 0
      ? [create('h3', {}, 'Parameters'), create('ul', { class: 'fields' }, fields.map(viewField))]
      : undefined,
    media
      ? [
          create('h3', {}, 'Body'),
          create('label', { for: isFile ? 'file' : 'body' }, contentType),
          isFile ? file : body,
        ]
      : undefined,
    media ? viewSchema(media.schema, document.components.schemas) : undefined,
    create('h3', {}, 'Call'),
    viewSnippets(readCall, [...fields.map(({ input }) => input), body]),
    viewSend(endpoint, readCall, () => (isFile ? file.files?.[0] : undefined)),
  ]
}

function createInput({ name, schema, required = false, example }: Parameter): Field['input'] {
  const id = `parameter-${name}`
  const sample = example === undefined ? '' : String(example)
  const choices = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String)
  if (choices) {
    const options = [...(required ? [] : ['']), ...choices]
    return create(
      'select',
      { id },
      options.map((value) => create('option', { value }, value || '–')),
    )
  }
  if (schema.type === 'array') return create('textarea', { id, rows: '2', placeholder: 'one a line' })
  const input = create('input', { id, autocomplete: 'off', placeholder: required ? '' : sample })
  if (required) input.value = sample
  return input
}

function viewField({ parameter, input }: Field): HTMLElement {
  const { name, schema, required, description = '' } = parameter
  return create(
    'li',
    {},
    create('label', { for: input.id }, create('code', {}, name)),
    ' ',
    create('span', { class: 'type' }, `${describeType(schema)}${describeBounds(schema)}, in the ${parameter.in}`),
    required ? create('span', { class: 'required' }, ' required') : undefined,
    create('p', {}, toInline(description)),
    listValues(schema),
    input,
  )
}

type Values = { fields: Field[]; contentType: string | undefined; body: string }

function toCall({ method, path, operation, kind }: Endpoint, { fields, contentType, body }: Values): Call {
  const isPublic = operation.security?.length === 0
  return {
    origin: location.origin,
    method,
    path,
    procedure: kind === undefined ? undefined : { name: operation.operationId, kind },
    // A key is the access of programs, unless a person has signed in here.
    access: isPublic
      ? 'public'
      : operation['x-scope'] === undefined || (readWorkspaceId() !== '' && !readApiKey())
        ? 'session'
        : 'key',
    workspaceId: readWorkspaceId(),
    parameters: fields.map(({ parameter, input }) => ({
      name: parameter.name,
      in: parameter.in,
      type: readType(parameter.schema),
      value: input.value.trim(),
    })),
    contentType,
    body,
  }
}

function readType({ type = '' }: Schema): string {
  return [type].flat()[0] ?? ''
}

/** Shows tabs, which the arrow keys change. */
function viewSnippets(readCall: () => Call, inputs: HTMLElement[]): Child {
  const writers: [string, (call: Call) => string | undefined][] = [
    ['curl', toCurl],
    ['fetch', toFetch],
    ['tRPC', toTrpc],
  ]
  const shown = writers.filter(([, write]) => write(readCall()) !== undefined)
  const code = create('code')
  const panel = create(
    'div',
    { role: 'tabpanel', id: 'snippet', 'aria-labelledby': 'tab-0', class: 'code' },
    create('pre', { tabindex: '0' }, code),
    createCopyButton(() => code.textContent),
  )
  const tabs = shown.map(([name], index) =>
    create('button', { type: 'button', role: 'tab', id: `tab-${index}`, 'aria-controls': 'snippet' }, name),
  )
  let chosen = 0
  const choose = (index: number) => {
    chosen = (index + tabs.length) % tabs.length
    tabs.forEach((tab, position) => {
      tab.setAttribute('aria-selected', String(position === chosen))
      tab.tabIndex = position === chosen ? 0 : -1
    })
    panel.setAttribute('aria-labelledby', `tab-${chosen}`)
    refresh()
  }
  refresh = () => (code.textContent = shown[chosen]?.[1](readCall()) ?? '')
  tabs.forEach((tab, index) => tab.addEventListener('click', () => choose(index)))
  const list = create('div', { role: 'tablist', 'aria-label': 'Languages' }, tabs)
  list.addEventListener('keydown', ({ key }) => {
    if (key !== 'ArrowRight' && key !== 'ArrowLeft') return
    choose(chosen + (key === 'ArrowRight' ? 1 : -1))
    tabs[chosen]?.focus()
  })
  for (const input of inputs) input.addEventListener('input', () => refresh())
  choose(0)
  return [list, panel]
}

function viewSend({ operation, method }: Endpoint, readCall: () => Call, readFile: () => Blob | undefined): Child {
  const isStream = Object.values(operation.responses).some(
    (response) => 'content' in response && 'text/event-stream' in (response.content ?? {}),
  )
  if (isStream)
    return create(
      'p',
      {},
      'This is a stream, which this page does not open. Call it with ',
      create('code', {}, 'curl -N'),
      '.',
    )
  const button = create('button', { type: 'button', class: 'primary', id: 'send' }, 'Send')
  const output = create('div', { id: 'result', role: 'status' })
  const isConfirmed = isRisky({ method, scope: operation['x-scope'], id: operation.operationId })
  button.addEventListener('click', async () => {
    if (isConfirmed && !(await confirmCall(`${operation.summary}? This cannot be undone, and may reach customers.`)))
      return
    button.disabled = true
    output.replaceChildren()
    const result = await send(readCall(), readFile()).catch((error: unknown) =>
      create('p', { class: 'failure' }, String(error)),
    )
    output.replaceChildren(create('div', {}, result))
    button.disabled = false
  })
  return [
    create('p', {}, button, ' ', createAccessButton(), isConfirmed ? ' asks before it calls the operation' : ''),
    output,
  ]
}
