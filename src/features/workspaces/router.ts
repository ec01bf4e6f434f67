import { startAudit } from '../../trpc/audit.ts'
import { adminProcedure, ownerProcedure, router, sessionProcedure, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { createOwnWorkspace } from './create-workspace.ts'
import { deleteWorkspace, getDeletion } from './delete-workspace.ts'
import {
  CreateWorkspace,
  DeletedWorkspaceRef,
  DeleteWorkspace,
  GetUsage,
  UpdateWorkspace,
  Workspace,
  WorkspaceDeletion,
  WorkspaceUsage,
} from './schema.ts'
import { getWorkspace, updateWorkspace } from './settings.ts'
import { getUsage } from './usage.ts'

const GET = { description: 'Returns name, time zone, language and country of the workspace of `x-tenant-id`.' }

const GET_USAGE = {
  description:
    'Returns what the workspace has used on each day of a period, in its time zone, and what it has stored now. Returns 422 `budget_exceeded` for a period with more than 5,000,000 messages, runs or files: ask for fewer days.',
} as const

const UPDATE = {
  description:
    'Fields that are left out stay as they are. Schedules without a time zone of their own move to the new one.',
  example: { name: 'Casa Verde', timezone: 'America/Sao_Paulo', language: 'pt_BR', country: 'BR' },
} as const

const CREATE = {
  status: 201,
  withoutWorkspace: true,
  description:
    'The caller becomes its owner. Returns 422 with the code `too_many_workspaces` for the owner of 20 workspaces.',
} as const

const DELETE = {
  status: 202,
  scope: null,
  description:
    'Deletes the workspace of `x-tenant-id` with everything in it, for its owners only, and not by an API key. `name` must be its exact name. From the answer on its members, API keys and webhooks are refused, and nothing is sent or done for it any more; rows and files are deleted in the background, which `GET /api/workspaces/{workspaceId}/deletion` follows. It cannot be undone.',
} as const

const GET_DELETION = {
  withoutWorkspace: true,
  description:
    'Returns the receipt of a deletion: what was deleted, and when it was finished. For those who owned the workspace when it was deleted.',
} as const

/** Procedures of the namespace `workspaces`. */
export const workspacesRouter = router({
  create: sessionProcedure
    .meta(rest('POST', '/workspaces', 'Create a workspace', CREATE))
    .input(CreateWorkspace)
    .output(Workspace)
    .mutation(({ ctx, input, path }) => createOwnWorkspace({ ...ctx, audit: startAudit(ctx, path) }, input)),

  getDeletion: sessionProcedure
    .meta(rest('GET', '/workspaces/{workspaceId}/deletion', 'Get the deletion of a workspace', GET_DELETION))
    .input(DeletedWorkspaceRef)
    .output(WorkspaceDeletion)
    .query(({ ctx, input }) => getDeletion(ctx, input)),
})

/** Procedures of the namespace `workspace`. */
export const workspaceSettingsRouter = router({
  get: viewerProcedure
    .meta(rest('GET', '/workspace', 'Get the workspace', GET))
    .input(omittable(empty.strict()))
    .output(Workspace)
    .query(({ ctx }) => getWorkspace(ctx.scope)),

  getUsage: viewerProcedure
    .meta(rest('GET', '/workspace/usage', 'Get the usage of the workspace', GET_USAGE))
    .input(omittable(GetUsage))
    .output(WorkspaceUsage)
    .query(({ ctx, input }) => getUsage(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/workspace', 'Update the workspace', UPDATE))
    .input(UpdateWorkspace)
    .output(Workspace)
    .mutation(({ ctx, input }) => updateWorkspace(ctx.scope, input)),

  delete: ownerProcedure
    .meta(rest('DELETE', '/workspace', 'Delete the workspace', DELETE))
    .input(DeleteWorkspace)
    .output(WorkspaceDeletion)
    .mutation(({ ctx, input }) => deleteWorkspace(ctx, input)),
})
