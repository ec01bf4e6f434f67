import { adminProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty } from '../../trpc/schemas.ts'
import { createTag } from './create-tag.ts'
import { deleteTag } from './delete-tag.ts'
import { listTags } from './list-tags.ts'
import { CreateTag, Tag, TagRef, Tags, UpdateTag } from './schema.ts'
import { getTag } from './tag-query.ts'
import { updateTag } from './update-tag.ts'

export const tagsRouter = router({
  list: viewerProcedure
    .meta(rest('GET', '/tags', 'List all tags'))
    .input(empty.strict())
    .output(Tags)
    .query(({ ctx }) => listTags(ctx.scope)),

  create: adminProcedure
    .meta(rest('POST', '/tags', 'Create a tag', { status: 201 }))
    .input(CreateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => createTag(ctx.scope, input)),

  get: viewerProcedure
    .meta(rest('GET', '/tags/{id}', 'Get a tag'))
    .input(TagRef)
    .output(Tag)
    .query(({ ctx, input }) => getTag(ctx.scope, input)),

  update: adminProcedure
    .meta(rest('PATCH', '/tags/{id}', 'Change a tag'))
    .input(UpdateTag)
    .output(Tag)
    .mutation(({ ctx, input }) => updateTag(ctx.scope, input)),

  delete: adminProcedure
    .meta(rest('DELETE', '/tags/{id}', 'Delete a tag; contacts lose it', { status: 204 }))
    .input(TagRef)
    .output(empty)
    .mutation(({ ctx, input }) => deleteTag(ctx.scope, input)),
})
