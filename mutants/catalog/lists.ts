import type { Area } from '../mutant.ts'

const CONTACTS = 'src/features/contacts/queries.ts'
const CONVERSATIONS = 'src/features/conversations/queries.ts'
const PAGES = 'src/features/paging/read-page.ts'
const COUNT_SQL = 'src/features/counts/count-sql.ts'
const MAINTAIN_COUNTS = 'src/features/counts/maintain-counts.ts'

const PAGE_TESTS = ['integration/lists/pages.test.ts']
const FAR_PAGE_TESTS = ['integration/lists/far-pages.test.ts']

export const LISTS: Area = {
  name: 'lists',
  tests: [
    'integration/api/contacts.test.ts',
    'integration/api/conversations.test.ts',
    'integration/api/spec.test.ts',
    'integration/tenant-isolation.test.ts',
  ],
  mutants: [
    {
      name: 'conversations without messages come first',
      file: CONVERSATIONS,
      original: "coalesce(t.last_message_at, '-infinity')",
      mutated: "coalesce(t.last_message_at, 'infinity')",
      tests: FAR_PAGE_TESTS,
    },
    {
      name: 'messages of one moment are skipped by a page',
      file: CONVERSATIONS,
      original: '(created_at, id) < (${end.value}::timestamptz, ${end.id}::uuid)',
      mutated: 'created_at < ${end.value}::timestamptz',
    },
    {
      name: 'the message that ends a page is repeated by the next',
      file: CONVERSATIONS,
      original: '(created_at, id) < (${end',
      mutated: '(created_at, id) <= (${end',
    },
    {
      name: 'a full page says that there are more messages',
      file: CONVERSATIONS,
      original: '(rows[0]?.found ?? 0) > rows.length',
      mutated: '(rows[0]?.found ?? 0) >= rows.length',
    },
    {
      name: 'unread finds conversations without unread messages',
      file: CONVERSATIONS,
      original: 'sqlFragment`t.unread_count > 0`',
      mutated: 'sqlFragment`t.unread_count >= 0`',
    },
    {
      name: 'the window is open at the moment of its end',
      file: 'src/features/conversations/service-window.ts',
      original: 'now < windowExpiresAt',
      mutated: 'now <= windowExpiresAt',
    },
    {
      name: 'the window is open at the moment of its end in lists',
      file: 'src/features/conversations/service-window.ts',
      original: 'window_expires_at > ${now}',
      mutated: 'window_expires_at >= ${now}',
    },
    {
      name: 'reopening does not count',
      file: 'src/features/conversations/reopen.ts',
      original: `reopenCount + (status === 'closed' ? 1 : 0)`,
      mutated: 'reopenCount',
    },
    {
      name: 'a customer who writes again does not count as reopening',
      file: 'src/features/conversations/reopen.ts',
      original: `reopen_count + (status = 'closed')::int`,
      mutated: 'reopen_count',
    },
    {
      name: 'a snoozed conversation that is woken counts as reopened',
      file: 'src/features/conversations/reopen.ts',
      original: `(status = 'closed')::int`,
      mutated: `(status <> 'active')::int`,
    },
    {
      name: '% and _ are wildcards in a search',
      file: CONTACTS,
      original: "q.replaceAll(/[\\\\%_]/g, '\\\\$&')",
      mutated: 'q',
    },
    {
      name: 'a backslash escapes the next character of a search',
      file: CONTACTS,
      original: '/[\\\\%_]/g',
      mutated: '/[%_]/g',
    },
    {
      name: 'a search finds e-mail addresses that contain the text',
      file: CONTACTS,
      original: 'const prefix = `${pattern}%`',
      mutated: 'const prefix = `%${pattern}%`',
      tests: ['integration/lists/search.test.ts'],
    },
    {
      name: 'a group filter lists the contacts of all groups',
      file: CONTACTS,
      original: 'and member.group_id = ${groupId} ${isContact}`',
      mutated: 'and member.group_id is distinct from ${groupId} ${isContact}`',
    },
    {
      name: 'tags are found by their exact spelling only',
      file: CONTACTS,
      original: 'lower(tags.name) = lower(${tag})',
      mutated: 'tags.name = ${tag}',
    },
    {
      name: 'a page is found from the end by the number of an earlier snapshot',
      file: PAGES,
      original: 'if (page.total !== total) return undefined',
      mutated: 'if (page.total < 0) return undefined',
      tests: FAR_PAGE_TESTS,
    },
    {
      name: 'the last page from the end has rows of the page before',
      file: PAGES,
      original: 'limit: Math.min(limit, total - offset), offset: skipped',
      mutated: 'limit, offset: skipped',
      tests: FAR_PAGE_TESTS,
    },
    {
      name: 'a page near the end is walked from the beginning',
      file: PAGES,
      original: 'skipped >= offset',
      mutated: 'skipped >= 0',
      tests: ['integration/lists/plans.test.ts'],
    },
    {
      name: 'a total of more matches than are counted does not say so',
      file: PAGES,
      original: 'page.total > TOTALS.max ? {',
      mutated: 'page.total > 2 * TOTALS.max ? {',
      tests: PAGE_TESTS,
    },
    {
      name: 'a total of as many matches as are counted says that there are more',
      file: PAGES,
      original: 'page.total > TOTALS.max ? {',
      mutated: 'page.total >= TOTALS.max ? {',
      tests: PAGE_TESTS,
    },
    {
      name: 'a page that is walked from the end has no cursor',
      file: PAGES,
      original: '...(skipped > 0 ? this.#cursorAfter(rows.at(-1)) : {})',
      mutated: '',
      tests: PAGE_TESTS,
    },
    {
      name: 'the last page has a cursor when it is walked from the end',
      file: PAGES,
      original: 'skipped > 0 ? this.#cursorAfter(rows.at(-1))',
      mutated: 'skipped >= 0 ? this.#cursorAfter(rows.at(-1))',
      tests: PAGE_TESTS,
    },
    {
      name: 'the cursor of a page that is walked from the end is that of its first row',
      file: PAGES,
      original: 'this.#cursorAfter(rows.at(-1))',
      mutated: 'this.#cursorAfter(rows[0])',
      tests: PAGE_TESTS,
    },
    {
      name: 'a roll-up works beside a recount',
      file: MAINTAIN_COUNTS,
      original: '  await lockCounts(tx)\n',
      mutated: '  void lockCounts\n',
      tests: ['integration/lists/kept-counts.test.ts'],
    },
    {
      name: 'numbers of what was deleted stay',
      file: MAINTAIN_COUNTS,
      original: 'if (row?.hasZero)',
      mutated: 'if (row?.hasZero && row.taken < 0)',
      tests: ['integration/lists/kept-counts.test.ts'],
    },
    {
      name: 'the last changes of a deleted workspace stay',
      file: MAINTAIN_COUNTS,
      original: 'where exists (select from workspaces where id = ${tenantId})',
      mutated: 'where true',
      tests: ['integration/lists/foreign-rows.test.ts'],
    },
    {
      name: 'numbers are used although nothing keeps them',
      file: COUNT_SQL,
      original: ' and mark.counted_at is not null',
      mutated: '',
      equivalent: 'Only rows of a workspace that keeps its numbers have its ID and no key',
    },
    {
      name: 'a recount forgets what it does not count',
      file: MAINTAIN_COUNTS,
      original: '`delete from kept_counts where tenant_id = ${tenantId}`',
      mutated: '`delete from kept_counts where tenant_id = ${tenantId} and count = 0`',
      tests: ['integration/lists/foreign-rows.test.ts'],
    },
  ],
}
