import type { FieldTexts } from './components.ts'

const NAMED_USER = {
  name: 'Name of the user',
  email: 'Email address of the user. Upper and lower case do not matter, and answers have lower case',
  image: 'Address of a picture of the user; null without one',
}

const SESSION = {
  expiresAt: 'Time at which the session ends',
  ipAddress: 'Network address of the client; null if it is not known',
  userAgent: 'Header `User-Agent` of the client; null without one',
}

const AUTHOR = {
  type: '`user` for a member, `key` for an API key, `system` for Parley itself',
  id: 'ID of the user or API key; null for the system',
  name: 'Name of the user or API key; null if it is not known',
}

/** Fields of accounts, workspaces, members, keys, credentials, webhook endpoints and audit events. */
export const WORKSPACE: FieldTexts = {
  user: NAMED_USER,
  auth: {
    ...NAMED_USER,
    password: 'Password of the account, 8 to 128 characters',
    newPassword: 'The new password, 8 to 128 characters',
    currentPassword: 'The present password of the account',
    token: 'The token of the emailed link',
    code: 'Code of the authenticator app, or a recovery code',
    status: 'Always true: other outcomes are errors',
    success: 'Always true: other outcomes are errors',
    message: 'Text to show, the same whether or not there is such an account',
    user: 'The user with the changes',
    data: 'The settings to change',
    members: 'The members of the workspace',
    total: 'Number of all members',
    member: 'The member whom the call was about',
    memberIdOrEmail: 'ID of the user, or the email address',
    invitation: 'The accepted invitation',
  },
  data: { name: 'Name of the workspace, up to 120 characters' },
  signedUp: { user: 'The user who is signed in' },
  signedIn: {
    user: 'The user who is signed in',
    redirect: 'Always false, as in better-auth',
    url: 'Always null, as in better-auth',
  },
  twoFactorRequired: {
    twoFactorRedirect: 'Always true: send a code to finish signing in',
    twoFactorMethods: 'Methods by which codes are made',
  },
  twoFactorStarted: { method: 'Method by which codes are made' },
  currentSession: { session: 'The session of the request', user: 'The user who is signed in' },
  session: SESSION,
  workspace: {
    name: 'Name of the workspace, up to 120 characters',
    timezone: 'IANA time zone of schedules, workflows and contacts without their own',
    language: 'Language code of the workspace, such as `pt_BR`; null without one',
    country: 'ISO 3166-1 alpha-2 code of the country, such as `BR`; null if it is not set',
    optOut: 'Changes of the words with which contacts opt out',
    optIn: 'Changes of the words with which contacts opt in',
  },
  workspaceDeletion: {
    name: 'Name of the deleted workspace',
    status: '`deleting` while rows and files are deleted, then `deleted`',
  },
  workspaceOfUser: { name: 'Name of the workspace', role: 'Role of the user in the workspace' },
  organization: {
    name: 'Name of the workspace',
    logo: 'Always null: workspaces have no logos',
    metadata: 'Always null: workspaces have no metadata',
    members: 'The members of the workspace',
    company: 'Name of the company',
    title: 'Position in the company',
  },
  organizationMember: { user: 'The user who is the member' },
  organizationInvitation: {
    email: 'Email address of the invited person',
    expiresAt: 'Time from which the invitation is not accepted',
    inviterId: 'ID of the user who invited the person',
  },
  invitation: {
    email: 'Email address of the invited person',
    status: 'State of the invitation; `revoked` by an admin',
    invitedBy: 'The member who invited the person',
    expiresAt: 'Time from which the invitation is not accepted',
    token: 'The token of the emailed link',
  },
  invitedBy: { name: 'Name of the user; null if the account was deleted' },
  joinedWorkspace: { name: 'Name of the workspace' },
  member: { ...NAMED_USER, joinedAt: 'Time at which the user became a member' },
  actor: {
    type: 'Kind of the actor',
    id: 'ID of the actor; null for the system and for providers',
    name: 'Name of the actor; null if it is not known',
  },
  createdBy: AUTHOR,
  publishedBy: AUTHOR,
  auditEvent: {
    at: 'Time of the operation',
    actor: 'Who called the operation',
    context: 'The request that called the operation',
  },
  target: { type: 'Kind of the object, such as `contact`', id: 'ID of the object' },
  context: {
    address: 'Network address of the client; null if it is not known',
    userAgent: 'Header `User-Agent` of the client; null without one',
    requestId: 'Header `X-Request-Id` of the response',
  },
  apiKey: {
    name: 'Name of the key for people, up to 120 characters',
    status: 'Whether the key is accepted: `expired` by its own end, `revoked` by an admin',
    scopes: 'What the key may do: scopes such as `contacts:read`, and presets',
    ipRanges: 'Networks that the key may be used from; null for any',
    channelIds: 'IDs of the channels that the key may send on; null for all',
    limitPerMinute: 'Calls that the key may make in a minute',
    expiresAt: 'Time from which the key is not accepted; null for none',
    revokedAt: 'Time at which the key was revoked; null before',
  },
  credential: {
    name: 'Name of the credential for people, up to 120 characters',
    allowedHosts: 'Hosts that may receive the secret, over HTTPS',
  },
  credentialPlacement: {
    type: 'The place of the secret in a request',
    username: 'User name of basic authentication',
    name: 'Name of the header or query parameter',
  },
  aiProvider: {
    baseUrl: 'Base URL of the API; requests go to /chat/completions below it',
    model: 'Default model of steps that name none',
    hasApiKey: 'True if a key is stored',
  },
  webhookEndpoint: {
    url: 'Public https address, to which events are posted',
    description: 'What the receiver is for, up to 500 characters; null without a description',
    status: 'Whether events are sent to the endpoint',
  },
  webhookTestResult: {
    delivered: 'True if the receiver accepted the event',
    statusCode: 'Status of the answer; null without one',
    error: 'Null for a success; otherwise the reason, such as `timed_out`',
  },
  webhookDelivery: {
    type: 'Type of the event, such as `message.received`',
    nextAttemptAt: 'Time of the next attempt; null if there is none',
    deliveredAt: 'Time of the first success; null before',
    eventAt: 'Time of the event',
  },
  attempt: { at: 'Time of the attempt' },
}
