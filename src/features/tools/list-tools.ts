import { Tool as ToolRow } from '../../models/automation/tool.ts'
import type { Scope } from '../../scope.ts'
import { BUILTIN_TOOLS } from './builtin-tools.ts'
import type { Tool } from './schema.ts'
import { toTool } from './tool-query.ts'

/** The built-in ones, then the workspace's own, the newest first. */
export async function listTools(scope: Scope): Promise<{ items: Tool[] }> {
  const own = await scope.query(ToolRow).orderBy([
    { column: 'createdAt', order: 'desc' },
    { column: 'id', order: 'desc' },
  ])
  return { items: [...BUILTIN_TOOLS, ...own.map(toTool)] }
}
