SELECT id, region, qty FROM orders WHERE qty > 2
SELECT region, count(*) AS n FROM orders GROUP BY region
SELECT region, sum(price * qty) AS revenue FROM orders GROUP BY region
SELECT region, max(order_date) AS last_order, min(order_date) AS first_order FROM orders GROUP BY region
SELECT date_format(order_date, 'yyyy-MM') AS month, sum(qty) AS items FROM orders GROUP BY date_format(order_date, 'yyyy-MM')
SELECT id, datediff(current_date, order_date) AS age FROM orders WHERE order_date IS NOT NULL
SELECT id FROM orders WHERE order_date >= date_sub(current_date, 3650)
SELECT id, year(order_date) AS y, month(order_date) AS m, day(order_date) AS d FROM orders
SELECT c.name, count(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.cust_id = c.id GROUP BY c.name
SELECT o.id, c.name FROM orders o JOIN customers c ON o.cust_id = c.id WHERE c.country = 'DE'
SELECT o.id, p.title, o.qty * p.list_price AS value FROM orders o JOIN products p ON o.sku = p.sku
SELECT name, email FROM customers WHERE email LIKE '%@shop.com'
SELECT lower(trim(email)) AS email FROM customers WHERE email IS NOT NULL
SELECT id, regexp_replace(sku, '-', '') AS plain FROM orders
SELECT id, regexp_extract(sku, '([A-Z]+)(\\d+)', 1) AS prefix FROM orders
SELECT id, regexp_replace(note, '\\s+', ' ') AS note FROM orders
SELECT id FROM orders WHERE sku RLIKE '^[A-Z]\\d+$'
SELECT id, split(sku, '-')[1] AS part FROM orders WHERE sku LIKE '%-%'
SELECT id, regexp_extract(note, 'http://([^/]+)/', 1) AS host FROM orders
SELECT id, initcap(region) AS region FROM orders
SELECT id, concat(upper(substr(name, 1, 1)), lower(substr(name, 2))) AS name FROM customers
SELECT id, coalesce(region, 'unknown') AS region, nvl(note, '-') AS note FROM orders
SELECT id, CASE WHEN qty > 10 THEN 'bulk' WHEN qty > 1 THEN 'some' ELSE 'single' END AS size FROM orders
SELECT id, if(paid, 'yes', 'no') AS paid FROM orders
SELECT id, CASE status WHEN 'open' THEN 1 WHEN 'closed' THEN 2 ELSE 0 END AS st FROM orders
SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag
SELECT tag, count(*) AS n FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag
SELECT id, pos, tag FROM orders LATERAL VIEW posexplode(tags) t AS pos, tag
SELECT id, k, v FROM orders LATERAL VIEW explode(attrs) t AS k, v
SELECT id, tag FROM orders LATERAL VIEW OUTER explode(tags) t AS tag WHERE id < 6
SELECT user_id, i.sku, i.qty FROM events LATERAL VIEW explode(items) t AS i
SELECT user_id, sum(i.qty) AS q FROM events LATERAL VIEW explode(items) t AS i GROUP BY user_id
SELECT explode(tags) AS tag FROM orders
SELECT id, word FROM orders LATERAL VIEW explode(split(note, ' ')) w AS word WHERE note <> ''
SELECT user_id, count(DISTINCT kind) AS kinds, min(ts) AS first_seen, max(ts) AS last_seen FROM events GROUP BY user_id
SELECT kind, avg(score) AS avg_score FROM events WHERE score IS NOT NULL GROUP BY kind
SELECT user_id, from_unixtime(unix_timestamp(ts)) AS t FROM events
SELECT id, from_unixtime(units) AS t FROM orders WHERE units BETWEEN 1 AND 1800000000
SELECT id, from_unixtime(units, 'yyyy-MM-dd') AS t FROM orders WHERE units > 0 AND units < 1800000000
SELECT user_id, unix_timestamp(ts) AS secs FROM events
SELECT user_id, to_date(ts) AS d, hour(ts) AS h FROM events
SELECT id, sqrt(abs(amount)) AS root FROM orders
SELECT id, sqrt(qty) AS root FROM orders WHERE qty >= 0
SELECT id, round(amount, 2) AS amount, floor(amount) AS fl, ceil(amount) AS ce FROM orders WHERE id < 9
SELECT id, round(price * 1.19, 2) AS gross FROM orders
SELECT id, power(qty, 2) AS sq, exp(0.5) AS e FROM orders
SELECT id, abs(qty) AS q, pmod(id, 3) AS bucket FROM orders
SELECT id, price / 2 AS half, qty / 2 AS hq FROM orders
SELECT id, amount / qty AS unit FROM orders WHERE qty <> 0
SELECT region, sum(amount) / count(*) AS mean FROM orders WHERE amount IS NOT NULL AND region = 'south' GROUP BY region
SELECT dept, avg(salary) AS mean, max(salary) AS top FROM staff GROUP BY dept
SELECT dept, count(*) AS n FROM staff GROUP BY dept HAVING count(*) > 1
SELECT s.name, m.name AS boss FROM staff s LEFT JOIN staff m ON s.manager_id = m.id
SELECT name, salary, rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS r FROM staff WHERE salary IS NOT NULL
SELECT name, row_number() OVER (ORDER BY hired, id) AS rn FROM staff WHERE hired IS NOT NULL AND id IS NOT NULL
SELECT id, row_number() OVER (PARTITION BY cust_id ORDER BY created_at DESC) AS rn FROM orders
SELECT * FROM (SELECT id, region, row_number() OVER (PARTITION BY region ORDER BY id) AS rn FROM orders) x WHERE rn = 1
SELECT id, sum(qty) OVER (PARTITION BY region) AS total FROM orders
SELECT id, count(*) OVER (PARTITION BY cust_id) AS n FROM orders
SELECT region, n, rank() OVER (ORDER BY n DESC) AS r FROM (SELECT region, count(*) AS n FROM orders GROUP BY region) x
SELECT m, rev, sum(rev) OVER (ORDER BY m) AS running FROM (SELECT date_format(order_date, 'yyyy-MM') AS m, sum(price) AS rev FROM orders WHERE order_date IS NOT NULL GROUP BY date_format(order_date, 'yyyy-MM')) x
SELECT id, lag(order_date) OVER (PARTITION BY cust_id ORDER BY order_date) AS prev FROM orders WHERE order_date IS NOT NULL
SELECT region, collect_set(status) AS statuses FROM orders GROUP BY region
SELECT cust_id, collect_list(id) AS ids FROM orders WHERE cust_id IS NOT NULL GROUP BY cust_id
SELECT region, size(collect_set(sku)) AS skus FROM orders GROUP BY region
SELECT id, size(tags) AS n FROM orders WHERE tags IS NOT NULL
SELECT id FROM orders WHERE array_contains(tags, 'new')
SELECT id, tags[0] AS first_tag, attrs['color'] AS color FROM orders
SELECT id, ship.city AS city, ship.zip AS zip FROM orders
SELECT id, map_keys(attrs) AS ks FROM orders WHERE attrs IS NOT NULL AND id < 3
SELECT id, concat_ws(', ', ship.city, ship.zip) AS addr FROM orders
SELECT id, concat(region, '-', sku) AS k FROM orders
SELECT id, concat_ws('|', tags) AS tags FROM orders WHERE id IN (1, 2, 3)
SELECT id, cast(qty AS string) AS q, cast(price AS string) AS p FROM orders
SELECT id, cast(sku AS int) AS n FROM orders
SELECT id, cast(price AS int) AS p, cast(qty AS double) AS d FROM orders
SELECT id, cast(created_at AS date) AS d FROM orders
SELECT user_id, cast(day AS date) AS d FROM events
SELECT user_id, day FROM events WHERE day >= '2024-01-01'
SELECT id FROM orders WHERE order_date BETWEEN '2024-01-01' AND '2024-12-31'
SELECT id FROM orders WHERE created_at > '2024-01-01 00:00:00'
SELECT id, add_months(order_date, 1) AS next FROM orders
SELECT id, trunc(order_date, 'MM') AS month_start, last_day(order_date) AS month_end FROM orders
SELECT id, date_add(order_date, 14) AS due FROM orders
SELECT id, months_between(created_at, order_date) AS m FROM orders
SELECT id, quarter(order_date) AS q, weekofyear(order_date) AS w FROM orders
SELECT id, dayofweek(order_date) AS dow FROM orders
SELECT concat(year(order_date), '-Q', quarter(order_date)) AS q, count(*) AS n FROM orders GROUP BY concat(year(order_date), '-Q', quarter(order_date))
SELECT year(order_date) * 100 + month(order_date) AS ym, sum(qty) AS q FROM orders GROUP BY year(order_date) * 100 + month(order_date)
SELECT 'orders' AS src, count(*) AS n FROM orders UNION ALL SELECT 'events' AS src, count(*) AS n FROM events
SELECT sku FROM orders UNION SELECT sku FROM products
SELECT DISTINCT region, status FROM orders
SELECT id, name FROM customers WHERE id IN (SELECT cust_id FROM orders WHERE paid)
SELECT id, name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id)
SELECT id FROM customers WHERE id NOT IN (SELECT cust_id FROM orders WHERE cust_id IS NOT NULL)
SELECT c.id FROM customers c LEFT SEMI JOIN orders o ON c.id = o.cust_id
SELECT id, greatest(qty, 0) AS q FROM orders WHERE qty IS NOT NULL
SELECT id, least(price, 100.00) AS p FROM orders WHERE price IS NOT NULL
SELECT id, greatest(coalesce(qty, 0), 1) AS q FROM orders
SELECT id FROM orders WHERE code = 'A1'
SELECT code, count(*) AS n FROM orders GROUP BY code
SELECT id, status FROM orders WHERE status IN ('open', 'new')
SELECT id, length(note) AS l, reverse(sku) AS r FROM orders
SELECT id, substr(sku, 1, 2) AS s, instr(sku, '-') AS at FROM orders
SELECT id, substr(sku, -2) AS tail FROM orders WHERE length(sku) >= 2
SELECT id, lpad(cast(id AS string), 6, '0') AS code FROM orders
SELECT id, get_json_object(note, '$.a') AS a FROM orders
SELECT id, parse_url(note, 'HOST') AS host FROM orders
SELECT id, md5(sku) AS h, sha2(note, 256) AS s FROM orders
SELECT id, translate(sku, '-', '_') AS s FROM orders
SELECT name, stddev_pop(salary) AS s FROM staff GROUP BY name
SELECT dept, stddev_samp(rating) AS s, var_pop(rating) AS v FROM staff GROUP BY dept
SELECT dept, percentile_approx(rating, 0.5) AS m FROM staff GROUP BY dept
SELECT percentile(id, 0.5) AS med FROM orders
SELECT region, sum(if(paid, 1, 0)) AS paid, sum(if(paid, 0, 1)) AS unpaid FROM orders GROUP BY region
SELECT region, count(CASE WHEN status = 'open' THEN 1 END) AS open FROM orders GROUP BY region
SELECT region, round(100.0 * sum(CASE WHEN paid THEN 1 ELSE 0 END) / count(*), 1) AS pct FROM orders GROUP BY region
SELECT region, status, count(*) AS n FROM orders GROUP BY region, status WITH ROLLUP
SELECT region, status, sum(qty) AS q FROM orders GROUP BY region, status GROUPING SETS ((region, status), (region), ())
SELECT t.region, t.q FROM (SELECT region, sum(qty) AS q FROM orders GROUP BY region) t WHERE t.q > 1
WITH big AS (SELECT * FROM orders WHERE amount > 10) SELECT region, count(*) AS n FROM big GROUP BY region
WITH a AS (SELECT cust_id, sum(price) AS s FROM orders GROUP BY cust_id), b AS (SELECT id, name FROM customers) SELECT b.name, a.s FROM a JOIN b ON a.cust_id = b.id
SELECT id FROM orders ORDER BY id LIMIT 5
SELECT name, salary FROM staff WHERE salary > 0 ORDER BY salary DESC, id LIMIT 3
SELECT region, sum(qty) AS q FROM orders WHERE region IS NOT NULL GROUP BY region ORDER BY region LIMIT 2
SELECT id, current_timestamp() > created_at AS past FROM orders
SELECT id, unix_timestamp(created_at) - unix_timestamp(to_date(created_at)) AS sec FROM orders
SELECT id, date_format(created_at, 'HH:mm') AS t FROM orders
SELECT id, nullif(note, '') AS note FROM orders
SELECT id, qty * price AS total, qty % 2 AS odd FROM orders
SELECT id, -qty AS neg, qty + 1 AS nxt FROM orders
SELECT sum(units) AS u FROM orders WHERE units < 1000000
SELECT region, avg(qty) AS aq, avg(price) AS ap FROM orders GROUP BY region
SELECT id, discount * 100 AS pct FROM orders
SELECT id FROM orders WHERE discount > 0.1
SELECT id, amount * (1 - discount) AS net FROM orders WHERE discount IS NOT NULL
SELECT o.id, e.kind FROM orders o JOIN events e ON o.cust_id = e.user_id
SELECT o.id FROM orders o FULL OUTER JOIN customers c ON o.cust_id = c.id
SELECT id, paid AND qty > 1 AS ok, NOT paid AS unpaid FROM orders
SELECT id FROM orders WHERE note IS NOT NULL AND note <> '' AND NOT (note LIKE '% %')
SELECT id, trunc(created_at, 'YEAR') AS y FROM orders
SELECT user_id, props['depth'] AS depth FROM events WHERE props['depth'] > 2
SELECT id, named_struct('id', id, 'sku', sku) AS s FROM orders
SELECT id, array(sku, region) AS arr FROM orders WHERE id < 5
SELECT id, sort_array(tags) AS tags FROM orders WHERE id < 4
SELECT id, ln(price) AS l, log10(qty) AS t FROM orders WHERE price > 0 AND qty > 0
SELECT name, salary * 12 AS annual, round(salary / 12, 2) AS monthly FROM staff
SELECT id, substring_index(email, '@', 1) AS usr, substring_index(email, '@', -1) AS dom FROM customers
