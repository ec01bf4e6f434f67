import type { ListedOperation, OpenApi } from '../openapi/openapi-route.ts'
import { OPENAPI_PATH } from '../paths.ts'
import type { ShownAccount } from '../index-page.ts'
import { escapeHtml } from './html.ts'

/** The group of the events that webhooks post. */
const EVENTS = { name: 'webhook-events', description: 'Requests that your servers get for events of the workspace' }

/**
 * Builds the API reference: the list of operations, and forms. The script of the page reads the OpenAPI document and
 * shows the operation that the fragment of the address names.
 */
export function buildReferencePage({ tags, operations, events }: OpenApi, account: ShownAccount): string {
  const groups = tags.map((tag) => ({ ...tag, items: operations.filter((operation) => operation.tag === tag.name) }))
  const receivers = events.map((event) => ({ ...event, method: 'post', path: event.id.replace('webhooks.', '') }))
  const listed = [...groups.filter(({ items }) => items.length > 0), { ...EVENTS, items: receivers }]
  return `<h1>API reference</h1>
<p>${operations.length} operations and ${events.length} events, from <a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>: the OpenAPI document for Postman or a client generator.</p>
<div class="reference">
<nav class="operations" aria-label="Operations">
<label for="filter">Filter</label> <input type="search" id="filter" autocomplete="off" placeholder="contacts, POST, runs.replay">
<p id="matches" role="status"></p>
<div class="tags">
${listed.map(listTag).join('\n')}
</div>
</nav>
<div class="details">
${buildAccess(account)}
<article id="operation" tabindex="-1" aria-label="Operation">
<h2>Where to begin</h2>
<p>Choose an operation to see its parameters, its bodies and its errors, to copy a call of it, and to send it to this server. A program sends an API key as <code>Authorization: Bearer</code>; a person signs in, and sends the ID of the workspace as <code>x-tenant-id</code>. See <a href="/docs/access">Access</a>, the <a href="/docs/tutorial">tutorial</a> and all <a href="/docs/errors">error codes</a>.</p>
<noscript><p>This page needs JavaScript to show operations. The OpenAPI document has the same contents.</p></noscript>
<dl class="topics">
${listed.map(({ name, description }) => `<div><dt><a href="#${name}">${name}</a></dt><dd>${escapeHtml(description)}</dd></div>`).join('\n')}
</dl>
</article>
</div>
</div>`
}

type Item = Pick<ListedOperation, 'id' | 'method' | 'path' | 'summary'> & Partial<Pick<ListedOperation, 'procedure'>>

function listTag({ name, items }: { name: string; items: Item[] }): string {
  const lines = items.map(({ id, method, path, summary, procedure }) => {
    const kind = procedure === undefined ? '' : ` data-procedure="${procedure}"`
    return `<li><a href="#${id}" title="${escapeHtml(path)}"${kind}><b class="${method}">${method.toUpperCase()}</b> ${escapeHtml(summary)}</a></li>`
  })
  return `<details id="${name}"><summary>${name} <span>${items.length}</span></summary>\n<ul>\n${lines.join('\n')}\n</ul></details>`
}

/** The forms are filled with the demo account where the page at `/` shows it, too. */
function buildAccess(account: ShownAccount): string {
  const value = (text: string | undefined) => (text === undefined ? '' : ` value="${escapeHtml(text)}"`)
  return `<details class="access"><summary>Access: <span id="identity">not signed in</span></summary>
<p id="access-status" role="status"></p>
<form id="sign-in">
<label>Email <input name="email" type="email" autocomplete="username" required${value(account?.email)}></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required${value(account?.password)}></label>
<label hidden>Code of the authenticator app <input name="code" inputmode="numeric" autocomplete="one-time-code"></label>
<button>Sign in</button>
</form>
<form id="key">
<label>or an API key <input name="key" type="password" autocomplete="off" placeholder="prl_…"></label>
<button>Use the key</button>
</form>
<p>The key stays in the memory of this page, until you close or reload it.</p>
<p><label>Workspace <select id="workspace-id" disabled><option value="">of the session</option></select></label> <button type="button" id="sign-out" hidden>Sign out</button></p>
</details>`
}
