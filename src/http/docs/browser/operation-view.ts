import type { Document, Operation, Reference, Response } from '../../openapi/document.ts'
import { readField } from './access.ts'
import { type Endpoint, resolveParameter, viewCall } from './call-form.ts'
import { type Child, create, createCode, createCopyButton, createLazyDetails, toInline } from './elements.ts'
import { readName, viewSchema } from './schema-view.ts'

/** Shows an operation: its access, its parameters and body as a form, the call and the responses. */
export function viewOperation(endpoint: Endpoint, document: Document): Child {
  return [
    ...viewHead(endpoint),
    viewAccess(endpoint.operation),
    viewCall(endpoint, document),
    viewResponses(endpoint.operation, document),
  ]
}

/** Shows an event, whose request the workspace's own servers receive. */
export function viewEvent(operation: Operation, document: Document): Child {
  const name = operation.operationId.replace('webhooks.', '')
  const headers = (operation.parameters ?? []).flatMap((parameter) => resolveParameter(parameter, document) ?? [])
  const media = operation.requestBody?.content['application/json']
  return [
    ...viewHead({ method: 'post', path: name, operation, kind: undefined }),
    create('h3', {}, 'Headers'),
    create(
      'ul',
      { class: 'fields' },
      headers.map(({ name: header, description = '' }) =>
        create('li', {}, create('code', {}, header), create('p', {}, toInline(description))),
      ),
    ),
    create('h3', {}, 'Body'),
    media
      ? [viewSchema(media.schema, document.components.schemas), createCode(JSON.stringify(media.example, null, 2))]
      : undefined,
    viewResponses(operation, document),
  ]
}

function viewHead({ method, path, operation }: Endpoint): Child[] {
  const { summary, description, operationId } = operation
  const address = () => new URL(`#${operationId}`, location.href).href
  return [
    create('h2', {}, summary),
    create('p', { class: 'path' }, create('b', { class: method }, method.toUpperCase()), ' ', create('code', {}, path)),
    create('p', {}, create('code', {}, operationId), ' ', createCopyButton(address, 'Copy link')),
    ...(description ?? '')
      .split('\n')
      .filter(Boolean)
      .map((line) => create('p', {}, toInline(line))),
  ]
}

function viewAccess({ security, 'x-scope': scope }: Operation): Child {
  if (security?.length === 0) return create('p', {}, 'Anyone may call it.')
  if (scope === undefined) return create('p', {}, 'It needs a session.')
  return create('p', {}, 'It needs a session, or an API key with the scope ', create('code', {}, scope), '.')
}

function viewResponses({ responses }: Operation, document: Document): Child {
  const items = Object.entries(responses).map(([status, response]) => {
    const resolved = resolveResponse(response, document)
    if (!resolved) return create('p', { class: 'failure' }, `The document does not describe ${status}`)
    return createLazyDetails(`${status} ${resolved.description}`, () => viewResponse(resolved, document))
  })
  return [create('h3', {}, 'Responses'), ...items]
}

function resolveResponse(response: Response | Reference, document: Document): Response | undefined {
  return '$ref' in response ? document.components.responses[readName(response.$ref)] : response
}

function viewResponse({ content = {}, headers = {} }: Response, document: Document): Child {
  const names = Object.keys(headers).map((name, index) => [index > 0 ? ', ' : 'Headers: ', create('code', {}, name)])
  return [
    create('p', {}, names),
    ...Object.entries(content).map(([type, { schema, example }]) => [
      create('p', {}, create('code', {}, type)),
      viewExample(example),
      viewSchema(schema, document.components.schemas),
    ]),
  ]
}

/** Shows a recorded body. That of an error leads to the explanation of its code. */
function viewExample(example: unknown): Child {
  if (example === undefined) return undefined
  const text = typeof example === 'string' ? example : JSON.stringify(example, null, 2)
  const code = readField(example, 'docUrl') === undefined ? undefined : readField(example, 'code')
  const link =
    typeof code !== 'string'
      ? undefined
      : create('p', {}, create('a', { href: `/docs/errors#${code}` }, create('code', {}, code)))
  return [link, createCode(text)]
}
