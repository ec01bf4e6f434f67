import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { ConflictError } from '../../platform/errors.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_TOOLS } from './builtin-tools.ts'
import type { Tool, ToolRef } from './schema.ts'
import { redactConfig } from './tool-headers.ts'

export function toTool(row: ToolRow): Tool {
  const { sealedHeaders: _, config, ...shown } = row
  return { ...shown, kind: 'http', config: redactConfig(config) }
}

export async function getTool(scope: Scope, { id }: ToolRef): Promise<Tool> {
  return BUILTIN_TOOLS.find((tool) => tool.id === id) ?? toTool(await scope.get(ToolRow, id))
}

/** @throws ConflictError `tool_is_builtin` */
export function assertNotBuiltin(id: string): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.id === id)) return
  throw new ConflictError('tool_is_builtin', 'A built-in tool cannot be changed. Create one of your own instead')
}

/** @throws ConflictError `name_taken` */
export function assertNotBuiltinName(name: string | undefined): void {
  if (!BUILTIN_TOOLS.some((tool) => tool.name === name)) return
  throw new ConflictError('name_taken', 'There is a built-in tool of this name. Choose another name')
}
