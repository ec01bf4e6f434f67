import { z } from 'zod'
import type { ApiScope } from '../../trpc/api-scopes.ts'
import type { McpCall } from './mcp-call.ts'
import type { ToolResult } from './result.ts'

type Input = Record<string, unknown>

/** The schema of an object. */
type JsonSchema = { type: 'object' }

/** A tool of assistants: a task, which may call several procedures. */
export type Tool = {
  name: string
  title: string
  description: string
  /** Scopes of which a key needs one to see the tool. None: every key sees it. */
  scopes: readonly ApiScope[]
  /** `read` changes nothing, `write` records of the workspace only, `send` reaches customers or cannot be taken back. */
  effect: 'read' | 'write' | 'send'
  inputSchema: JsonSchema
  /** @throws ZodError if the input is not valid; AppError; ToolError */
  run(call: McpCall, input: unknown): Promise<ToolResult>
}

/** Builds a tool from the schema of its input. */
export function defineTool<S extends z.ZodObject>({
  input: schema,
  run,
  ...tool
}: Omit<Tool, 'inputSchema' | 'run'> & {
  input: S
  run: (call: McpCall, input: z.infer<S>) => Promise<ToolResult>
}): Tool {
  return {
    ...tool,
    inputSchema: toJsonSchema(schema),
    run: async (call, input) => run(call, schema.parse(input)),
  }
}

/** Converts the schema of an input to JSON Schema without what only programs need: every word of it costs tokens. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'email') delete jsonSchema.pattern
      delete jsonSchema['override']
    },
  })
  return JSON.parse(JSON.stringify(json))
}

/** Leaves out the fields that are not set, as optional fields of procedures may not be undefined. */
export function omitUndefined<T extends Input>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return JSON.parse(JSON.stringify(fields))
}
