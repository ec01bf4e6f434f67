import { Tool as ToolRow } from '../../models/automation/tool.ts'
import { definedFields } from '../../platform/defined-fields.ts'
import { refuseUncallable } from '../../platform/outbound/assert-callable.ts'
import { refuseTakenName } from '../../platform/database/unique-name.ts'
import type { Scope } from '../../scope.ts'
import type { Tool, UpdateTool } from './schema.ts'
import { keepHeaders, openHeaders, sealConfig } from './tool-headers.ts'
import { getTool, refuseBuiltin, refuseBuiltinName } from './tool-query.ts'

export async function updateTool(scope: Scope, { id, config, ...columns }: UpdateTool): Promise<Tool> {
  refuseBuiltin(id)
  refuseBuiltinName(columns.name)
  if (config) refuseUncallable(config.url, 'config.url', scope)
  return refuseTakenName('tool', () =>
    scope.transaction(async (tx) => {
      const before = await tx.lock(ToolRow, id)
      const headers = openHeaders(tx, before)
      const wanted = config
        ? keepHeaders(config, { url: before.config.url, headers })
        : { ...before.config, ...(before.config.headers ? { headers } : {}) }
      await tx
        .query(ToolRow)
        .findOne('id', id)
        .patch({ ...definedFields(columns), ...sealConfig(tx, id, wanted), updatedAt: tx.now() })
      return getTool(tx, { id })
    }),
  )
}
