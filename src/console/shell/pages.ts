/** The pages of the navigation, with the key that leads to each after `g`. */
export const PAGES: readonly { path: string; title: string; key?: string }[] = [
  { path: '/playground', title: 'Playground', key: 'p' },
  { path: '/runs', title: 'Runs', key: 'r' },
  { path: '/workflows', title: 'Workflows', key: 'w' },
  { path: '/contacts', title: 'Contacts', key: 'c' },
  { path: '/broadcasts', title: 'Broadcasts', key: 'b' },
]
