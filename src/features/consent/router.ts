import { adminProcedure, agentProcedure, router, viewerProcedure } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { empty, omittable } from '../../trpc/schemas.ts'
import { getConsent, recordConsent } from './consent-ledger.ts'
import { getConsentKeywords, putConsentKeywords } from './keyword-settings.ts'
import { ConsentKeywords, ContactConsent, GetConsent, PutConsentKeywords, RecordConsent } from './schema.ts'

const GET = {
  description:
    'Returns the state of each purpose, now or at the time `at`, and the ledger: every change of consent with its source, actor and evidence. Entries are never changed, and deleted only with their contact.',
}

const RECORD = {
  status: 201,
  description:
    'Adds an entry to the ledger and changes the state of the purpose. An entry is added even if the state stays the same, because the contact may have agreed to another text.',
} as const

const GET_KEYWORDS = {
  description:
    'A message that consists of one of these words changes the marketing consent of its contact and starts no workflow.',
}

const PUT_KEYWORDS = {
  description: 'Replaces the changes to the built-in words and texts. What is left out is the default.',
  example: { optOut: { added: ['adios'], removed: ['sair'] } },
} as const

/** Procedures of the namespace `contacts`. */
export const contactConsentRouter = router({
  getConsent: viewerProcedure
    .meta(rest('GET', '/contacts/{contactId}/consent', 'Get the consent of a contact', GET))
    .input(GetConsent)
    .output(ContactConsent)
    .query(({ ctx, input }) => getConsent(ctx.scope, input)),

  recordConsent: agentProcedure
    .meta(rest('POST', '/contacts/{contactId}/consent', 'Record a consent', RECORD))
    .input(RecordConsent)
    .output(ContactConsent)
    .mutation(({ ctx, input }) => recordConsent(ctx.scope, input)),
})

/** Procedures of the namespace `workspace`. */
export const consentKeywordsRouter = router({
  getConsentKeywords: viewerProcedure
    .meta(rest('GET', '/workspace/consent-keywords', 'Get the consent keywords', GET_KEYWORDS))
    .input(omittable(empty.strict()))
    .output(ConsentKeywords)
    .query(({ ctx }) => getConsentKeywords(ctx.scope)),

  setConsentKeywords: adminProcedure
    .meta(rest('PUT', '/workspace/consent-keywords', 'Set the consent keywords', PUT_KEYWORDS))
    .input(PutConsentKeywords)
    .output(ConsentKeywords)
    .mutation(({ ctx, input }) => putConsentKeywords(ctx.scope, input)),
})
