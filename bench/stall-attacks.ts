import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { doublingSchema, patternSchema, UNIQUE_ITEMS } from '../test/support/expensive-schemas.ts'
import {
  ECHO,
  listOfTexts,
  patternDefinition,
  problemDefinition,
  sortingDefinition,
} from '../test/support/expensive-definitions.ts'
import { BenchClient } from './http-client.ts'

/** Requests of one workspace; `execute` returns how they end. */
export type Attack = { name: string; execute(): Promise<string> }

const OBJECT = { type: 'object' }

/** Signs up the attacker and prepares the tools and workflows of the attacks. */
export async function prepareAttacks(url: string): Promise<{ attacks: Attack[]; stop: () => Promise<void> }> {
  const client = new BenchClient(url, 32)
  await client.signUp()
  const provider = await startProvider()
  const { id: contactId } = await client.post<{ id: string }>('/api/contacts', { name: 'Ana', phone: '+4915112345678' })
  await client.post('/api/tools', toolWith({ name: 'list', outputSchema: UNIQUE_ITEMS, config: provider.config }))
  const workflowId = await publishWorkflow(client, [{ id: 'use', type: 'tool', tool: 'list', input: {} }])
  const request = (path: string, body: object) => describeOutcome(client.post(path, body))
  const createTool = (schema: object) => request('/api/tools', toolWith({ name: 'attack', inputSchema: schema }))
  const simulate = (body: object) => request(`/api/workflows/${workflowId}/simulate`, body)
  const validate = (definition: object) => request('/api/workflows/validate', { definition })
  const attacks: Attack[] = [
    { name: 'tool with doubling $refs, 22 deep', execute: () => createTool(doublingSchema(22)) },
    { name: 'tool with doubling $refs, 29 deep', execute: () => createTool(doublingSchema(29)) },
    { name: '10 × the same at once', execute: () => repeat(10, () => createTool(doublingSchema(29))) },
    { name: 'tool with 60 expensive patterns', execute: () => createTool(patternSchema(60)) },
    { name: 'tool output with 15,000 unique items', execute: () => runOnce(client, contactId) },
    { name: 'simulation with 20 × sort_natural', execute: () => simulate(SORTING) },
    { name: 'simulation with 200 messages', execute: () => simulate(TALKING) },
    { name: 'validation of 225 expensive patterns', execute: () => validate(patternDefinition(225)) },
    { name: 'validation with 35,000 problems', execute: () => validate(problemDefinition(35_000)) },
  ]
  return { attacks, stop: provider.stop }
}

const definitionWith = (steps: object[]) => ({
  version: 1,
  triggers: [{ type: 'message_received', match: { mode: 'any' } }],
  steps,
})

const SORTING = {
  definition: sortingDefinition(),
  trigger: { type: 'manual' },
  input: { x: listOfTexts(90_000) },
}

const TALKING = {
  definition: ECHO,
  dialogue: range(200, (index) => ({ type: 'message', body: `message ${index}` })),
}

function range<T>(length: number, toEntry: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => toEntry(index))
}

function toolWith(fields: object): object {
  const config = { method: 'POST', url: 'https://shop.example.com/articles' }
  return { title: 'T', description: 'D', inputSchema: OBJECT, outputSchema: OBJECT, effect: 'read', config, ...fields }
}

async function publishWorkflow(client: BenchClient, steps: object[]): Promise<string> {
  const body = { name: 'W', definition: definitionWith(steps) }
  const { id } = await client.post<{ id: string }>('/api/workflows', body)
  await client.post(`/api/workflows/${id}/publish`, {})
  return id
}

/** Writes a message to the published workflow and waits for the end of its run. */
async function runOnce(client: BenchClient, contactId: string): Promise<string> {
  await client.post('/api/sandbox/messages', { contactId, body: 'hi' })
  for (;;) {
    const { items } = await client.getJson<{ items: { status: string; error: { code: string } | null }[] }>(
      '/api/runs?limit=1',
    )
    const [run] = items
    if (run && run.status !== 'waiting' && run.status !== 'queued' && run.status !== 'running') {
      return run.error?.code ?? run.status
    }
    await delay(50)
  }
}

/** Starts an HTTP server that answers every request with 15,000 objects. */
async function startProvider() {
  const body = JSON.stringify({ items: range(15_000, (index) => ({ index })) })
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(body))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    config: { method: 'POST', url: `http://127.0.0.1:${port}/items` },
    stop: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function repeat(count: number, request: () => Promise<string>): Promise<string> {
  return [...new Set(await Promise.all(range(count, request)))].join(' and ')
}

function describeOutcome(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => '200',
    (error: unknown) => /returned (\d+)/.exec(String(error))?.[1] ?? String(error),
  )
}
