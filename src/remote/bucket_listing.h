// Pages of a bucket's keys. Threads: any but the transfers' own: it waits.
#pragma once

#include "client.h"

namespace h5mount::remote {

// As Client::list.
Result<ListedPage> list_bucket(ClientParts& client, const Url& prefix, const ListQuery& query);

}  // namespace h5mount::remote
