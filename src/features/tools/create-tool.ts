import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { newId } from '../../platform/ids.ts'
import { refuseUncallable } from '../../platform/outbound/assert-callable.ts'
import { refuseTakenName } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import type { CreateTool, Tool } from './schema.ts'
import { keepHeaders, sealConfig } from './tool-headers.ts'
import { getTool, refuseBuiltinName } from './tool-query.ts'

export async function createTool(scope: Scope, { enabled = true, config: given, ...input }: CreateTool): Promise<Tool> {
  refuseBuiltinName(input.name)
  refuseUncallable(given.url, 'config.url', scope)
  const config = keepHeaders(given)
  return refuseTakenName('tool', () =>
    scope.transaction(async (tx) => {
      const id = newId()
      const now = tx.now()
      await tx
        .query(ToolRow)
        .insert({ ...input, ...sealConfig(tx, id, config), id, enabled, createdAt: now, updatedAt: now })
      return getTool(tx, { id })
    }),
  )
}
