import { create, find } from './elements.ts'

type Identity = { email: string; workspaces: { id: string; name: string }[] }

/** The key is in the memory of the page only. */
let apiKey = ''
let isLooked = false

export function readApiKey(): string {
  return apiKey
}

/** Returns the ID of the chosen workspace; empty without a session. */
export function readWorkspaceId(): string {
  return find('select', 'workspace-id').value
}

/** Calls an operation of accounts, and returns its body. */
async function call(path: string, body?: object): Promise<unknown> {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`/api/auth/${path}`, body ? options : {})
  const answer: unknown = await response.json()
  if (!response.ok) throw new Error(String(readField(answer, 'error')))
  return answer
}

/** Returns a field of a body; undefined if it has none. */
export function readField(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
}

/** Looks once for the session that the browser already has. */
export async function findSession(onChange: () => void): Promise<void> {
  if (isLooked) return
  isLooked = true
  const session: unknown = await call('get-session').catch(() => null)
  if (isIdentity(session)) showIdentity({ email: session.user.email, workspaces: session.workspaces }, onChange)
}

function isIdentity(body: unknown): body is { user: { email: string }; workspaces: Identity['workspaces'] } {
  return typeof body === 'object' && body !== null && 'user' in body && 'workspaces' in body
}

function showIdentity(identity: Identity | undefined, onChange: () => void): void {
  const select = find('select', 'workspace-id')
  const workspaces = identity?.workspaces ?? []
  select.replaceChildren(...workspaces.map(({ id, name }) => create('option', { value: id }, name)))
  select.disabled = workspaces.length === 0
  find('button', 'sign-out').hidden = !identity
  showWho(identity?.email)
  onChange()
}

function showWho(email?: string): void {
  const who = find('span', 'identity')
  if (apiKey) who.textContent = 'with an API key'
  else who.textContent = email === undefined ? 'not signed in' : `signed in as ${email}`
}

/** Creates a button that leads to the forms. */
export function createAccessButton(): HTMLButtonElement {
  const button = create('button', { type: 'button' }, 'Change access')
  button.addEventListener('click', () => {
    const details = find('form', 'sign-in').closest('details')
    details?.setAttribute('open', '')
    details?.querySelector('summary')?.focus()
  })
  return button
}

/** Makes the forms work: signing in, also with a second factor, and using an API key. */
export function prepareAccess(onChange: () => void): void {
  const signIn = find('form', 'sign-in')
  const key = find('form', 'key')
  find('select', 'workspace-id').addEventListener('change', onChange)
  onSubmit(signIn, () => submitSignIn(signIn, onChange))
  onSubmit(key, async () => {
    apiKey = String(new FormData(key).get('key')).trim()
    key.reset()
    showWho()
    onChange()
    if (!apiKey) await findAgain(onChange)
    return apiKey ? 'Calls are sent with the key.' : 'Calls are sent with the session.'
  })
  find('button', 'sign-out').addEventListener('click', async () => {
    await call('sign-out', {}).catch(() => undefined)
    showIdentity(undefined, onChange)
    report('You are signed out.')
  })
}

async function findAgain(onChange: () => void): Promise<void> {
  isLooked = false
  await findSession(onChange)
}

async function submitSignIn(form: HTMLFormElement, onChange: () => void): Promise<string> {
  const { email, password, code } = Object.fromEntries(new FormData(form))
  const answer = code
    ? await call('two-factor/verify-totp', { code })
    : await call('sign-in/email', { email, password })
  const label = form.querySelector('[name=code]')?.parentElement
  const needsCode = readField(answer, 'twoFactorRedirect') === true
  if (label) label.hidden = !needsCode
  if (needsCode) return 'Enter the code of your authenticator app.'
  apiKey = ''
  form.reset()
  await findAgain(onChange)
  return 'You are signed in.'
}

function onSubmit(form: HTMLFormElement, submit: () => Promise<string>): void {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    // What is shown until the answer arrives is not that of an earlier one.
    report('')
    report(await submit().catch((error: unknown) => (error instanceof Error ? error.message : String(error))))
  })
}

function report(text: string): void {
  find('p', 'access-status').textContent = text
}
