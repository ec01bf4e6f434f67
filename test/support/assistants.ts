import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { newAddress } from './app.ts'
import type { WorkspaceClient } from './workspace-client.ts'

export type Answer = { text: string; structured: Record<string, unknown>; isError: boolean }

/** An assistant that is connected with the official client of one era of the protocol. */
export type Assistant = {
  listTools(): Promise<{ name: string; inputSchema: object; annotations?: Record<string, unknown> | undefined }[]>
  call(name: string, input?: Record<string, unknown>): Promise<Answer>
  close(): Promise<void>
}

type Connect = (url: string, key: string) => Promise<Assistant>

const INFO = { name: 'test assistant', version: '1.0.0' }

function requestInit(key: string) {
  return { requestInit: { headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': newAddress() } } }
}

async function connectModern(url: string, key: string): Promise<Assistant> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(new ModernTransport(new URL('/mcp', url), requestInit(key)))
  return {
    listTools: async () => (await client.listTools()).tools,
    call: async (name, input = {}) => toAnswer(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
  }
}

async function connectEarlier(url: string, key: string): Promise<Assistant> {
  const client = new EarlierClient(INFO)
  await client.connect(new EarlierTransport(new URL('/mcp', url), requestInit(key)))
  return {
    listTools: async () => (await client.listTools()).tools,
    call: async (name, input = {}) => toAnswer(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
  }
}

/** The eras of the protocol, by the client that speaks it. */
export const ERAS: [era: string, connect: Connect][] = [
  ['2026-07-28', connectModern],
  ['an earlier revision', connectEarlier],
]

export const connectAssistant: Connect = connectModern

function toAnswer(result: object): Answer {
  const { content, structuredContent, isError } = result as {
    content: { text?: string }[]
    structuredContent?: Record<string, unknown>
    isError?: boolean
  }
  const text = content.map((part) => part.text ?? '').join('\n')
  return { text, structured: structuredContent ?? {}, isError: isError === true }
}

/** Creates an API key with these scopes; returns its secret. */
export async function createKey(workspace: WorkspaceClient, fields: object): Promise<{ id: string; key: string }> {
  return workspace.call('POST', '/api/api-keys', { name: 'Assistant', ...fields })
}

/** Reads the data that a result shows between its marks. */
export function readData({ text }: Answer): any {
  // oxlint-disable-line no-explicit-any -- results have every shape
  const [, , json = 'null'] = /<(untrusted-[0-9a-f]{16})>\n([^]*)\n<\/\1>/.exec(text) ?? []
  return JSON.parse(json)
}
