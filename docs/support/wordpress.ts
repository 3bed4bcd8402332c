/** Stands in for the client of a blog, so that the code on these pages can run. It honours slugs as a blog does: one post each. */

export interface Post {
  readonly id: number;
  readonly status: string;
  readonly html: string;
}

const posts = new Map<string, Post>();

export const wordpress = {
  async publish(
    post: { readonly slug: string; readonly html: string },
    options: { readonly signal: AbortSignal },
  ): Promise<Post> {
    options.signal.throwIfAborted();
    const known = posts.get(post.slug) ?? { id: 2451 + posts.size, status: "publish", html: post.html };
    posts.set(post.slug, known);
    return known;
  },
  async findBySlug(slug: string): Promise<Post | undefined> {
    return posts.get(slug);
  },
};

export async function loadDraft(id: string, options: { readonly signal: AbortSignal }): Promise<string> {
  options.signal.throwIfAborted();
  return `Draft ${id}`;
}

export async function render(draft: string, options: { readonly signal: AbortSignal }): Promise<string> {
  options.signal.throwIfAborted();
  return `<p>${draft}</p>`;
}
