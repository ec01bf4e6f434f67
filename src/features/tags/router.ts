import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createTag } from './create-tag.ts'
import { deleteTag, getTag, listTags } from './queries.ts'
import { CreateTag, Tag, TagRef, Tags, UpdateTag } from './schema.ts'
import { updateTag } from './update-tag.ts'

const DELETE = { status: 204, description: 'The tag is removed from all contacts.' } as const

export const tagsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/tags', 'List tags'))
    .input(empty.strict())
    .output(Tags)
    .query(({ ctx }) => listTags(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/tags', 'Create a tag', { status: 201 }))
    .input(CreateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => createTag(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/tags/{tagId}', 'Get a tag'))
    .input(TagRef)
    .output(Tag)
    .query(({ ctx, input }) => getTag(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/tags/{tagId}', 'Update a tag'))
    .input(UpdateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => updateTag(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/tags/{tagId}', 'Delete a tag', DELETE))
    .input(TagRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTag(ctx.scope, input)),
})
