SELECT id, cust_id, amount FROM orders WHERE amount > 100
SELECT region, count(*) AS n, sum(amount) AS total FROM orders GROUP BY region
SELECT region, count(*) AS n FROM orders GROUP BY ALL
SELECT region, count(*) FILTER (WHERE paid) AS paid_orders FROM orders GROUP BY region
SELECT region, count_if(paid) AS paid_orders FROM orders GROUP BY region
SELECT o.id, c.name, o.amount FROM orders o INNER JOIN customers c ON o.cust_id = c.id
SELECT o.id, c.name FROM orders AS o LEFT JOIN customers AS c ON c.id = o.cust_id
SELECT o.id, p.title FROM orders o JOIN products p USING (sku)
SELECT c.name, coalesce(sum(o.amount), 0) AS total FROM customers c LEFT JOIN orders o ON o.cust_id = c.id GROUP BY c.name
SELECT c.name, count(o.id) AS n FROM customers c LEFT JOIN orders o ON o.cust_id = c.id GROUP BY c.name HAVING count(o.id) > 0
SELECT id, CASE WHEN amount >= 1000 THEN 'large' WHEN amount >= 100 THEN 'medium' ELSE 'small' END AS bucket FROM orders
SELECT id, ifnull(note, '') AS note FROM orders
SELECT id, nvl2(note, 'has note', 'no note') AS flag FROM orders
SELECT id, iff(paid, 1, 0) AS p FROM orders
SELECT id, if(qty > 0, qty, 0) AS qty FROM orders
SELECT id, coalesce(qty, 0) AS qty FROM orders
SELECT id, coalesce(price, 0) AS price FROM orders
SELECT id, coalesce(amount, 0) AS amount FROM orders
SELECT id, coalesce(region, 'none') AS region FROM orders
SELECT id, region || '/' || sku AS key FROM orders
SELECT id, concat(region, ' ', status) AS label FROM orders
SELECT id, concat_ws('-', region, sku) AS label FROM orders
SELECT id, left(sku, 2) AS family, right(sku, 2) AS tail FROM orders
SELECT id, substring(sku, 2, 3) AS mid FROM orders
SELECT id, substring(sku FROM 1 FOR 2) AS head FROM orders
SELECT id, trim(note) AS note, char_length(note) AS n FROM orders
SELECT id, trim(BOTH 'x' FROM note) AS note FROM orders
SELECT id, replace(note, ' ', '_') AS note FROM orders
SELECT id, upper(region) AS r, initcap(region) AS i FROM orders
SELECT id, round(amount, 2) AS amount, round(amount) AS whole FROM orders
SELECT id, ceil(amount) AS c, floor(amount) AS f FROM orders
SELECT id, amount * 1.1 AS raised FROM orders
SELECT id, price * qty AS gross FROM orders
SELECT id, price * 1.19 AS gross FROM orders
SELECT id, round(price * 1.19, 2) AS gross FROM orders
SELECT id, price / 2 AS half FROM orders
SELECT id, amount / nullif(qty, 0) AS unit FROM orders
SELECT id, qty / 2 AS half FROM orders
SELECT id, qty DIV 2 AS half, qty % 2 AS rest FROM orders
SELECT id, mod(id, 5) AS shard FROM orders
SELECT id, pmod(id, 5) AS shard FROM orders
SELECT id, abs(amount) AS a, sign(amount) AS s FROM orders
SELECT id, CAST(amount AS int) AS a FROM orders
SELECT id, CAST(amount AS decimal(10, 2)) AS a FROM orders WHERE abs(amount) < 100000
SELECT id, CAST(id AS string) AS id_text FROM orders
SELECT id, CAST(price AS double) AS price FROM orders
SELECT id, price::string AS p FROM orders
SELECT id, CAST(amount AS string) AS a FROM orders
SELECT id, try_cast(sku AS int) AS n FROM orders
SELECT id, string(qty) AS q FROM orders
SELECT id, CAST(order_date AS timestamp) AS t FROM orders
SELECT id, CAST(created_at AS date) AS d FROM orders
SELECT id, date(created_at) AS d FROM orders
SELECT id, to_date(created_at) AS d FROM orders
SELECT id, to_date(note, 'yyyy-MM-dd') AS d FROM orders WHERE id < 0
SELECT id, date_trunc('month', created_at) AS m FROM orders
SELECT id, trunc(order_date, 'month') AS m FROM orders
SELECT id, trunc(order_date, 'YEAR') AS y FROM orders
SELECT id, year(order_date) AS y, month(order_date) AS m, dayofmonth(order_date) AS d FROM orders
SELECT id, quarter(order_date) AS q, weekofyear(order_date) AS w FROM orders
SELECT id, dayofweek(order_date) AS dow FROM orders
SELECT id, extract(YEAR FROM order_date) AS y, extract(MONTH FROM order_date) AS m FROM orders
SELECT id, extract(HOUR FROM created_at) AS h FROM orders
SELECT id, date_part('year', order_date) AS y FROM orders
SELECT id, date_format(order_date, 'yyyy-MM') AS ym FROM orders
SELECT id, date_format(created_at, 'yyyy/MM/dd HH:mm:ss') AS t FROM orders
SELECT id, date_add(order_date, 14) AS due, date_sub(order_date, 1) AS prev FROM orders
SELECT id, order_date + INTERVAL 30 DAYS AS due FROM orders
SELECT id, order_date - INTERVAL '1' MONTH AS prev FROM orders
SELECT id, order_date + 1 AS tomorrow FROM orders
SELECT id, datediff(created_at, order_date) AS n FROM orders
SELECT id, datediff(DAY, order_date, created_at) AS n FROM orders
SELECT id, add_months(order_date, -1) AS prev FROM orders
SELECT id, last_day(order_date) AS eom FROM orders
SELECT id, months_between(created_at, order_date) AS m FROM orders
SELECT id, unix_timestamp(created_at) AS epoch FROM orders
SELECT id, from_unixtime(1700000000) AS t FROM orders
SELECT id, make_date(2024, 1, 1) AS d FROM orders
SELECT id, hour(created_at) AS h, minute(created_at) AS m, second(created_at) AS s FROM orders
SELECT id FROM orders WHERE order_date >= '2024-01-01'
SELECT id FROM orders WHERE order_date BETWEEN DATE '2024-01-01' AND DATE '2024-06-30'
SELECT id FROM orders WHERE created_at >= TIMESTAMP '2024-02-29 00:00:00'
SELECT id FROM orders WHERE created_at < '2024-03-01'
SELECT id FROM orders WHERE date(created_at) = '2024-02-29'
SELECT id FROM orders WHERE year(order_date) = 2024 AND month(order_date) IN (1, 2, 3)
SELECT id FROM orders WHERE region = 'north' AND paid
SELECT id FROM orders WHERE region IN ('north', 'south', NULL)
SELECT id FROM orders WHERE region NOT IN ('east')
SELECT id FROM orders WHERE note ILIKE '%GIFT%'
SELECT id FROM orders WHERE note LIKE '%gift%' OR note LIKE '%rush%'
SELECT id FROM orders WHERE note LIKE ANY ('%gift%', '%rush%')
SELECT id FROM orders WHERE sku RLIKE '[0-9]{2}$'
SELECT id FROM orders WHERE startswith(sku, 'A')
SELECT id FROM orders WHERE contains(note, 'gift')
SELECT id FROM orders WHERE qty IS NOT NULL AND qty <> 0
SELECT id FROM orders WHERE qty == 3
SELECT id FROM orders WHERE region IS DISTINCT FROM 'north'
SELECT id FROM orders WHERE region <=> 'north'
SELECT id FROM orders WHERE paid IS TRUE
SELECT id FROM orders WHERE NOT paid OR paid IS NULL
SELECT id FROM orders WHERE cust_id IN (SELECT id FROM customers WHERE country = 'DE')
SELECT id FROM orders WHERE cust_id NOT IN (SELECT id FROM customers WHERE id IS NOT NULL)
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id AND o.amount > 100)
SELECT id FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.cust_id = c.id)
SELECT id FROM customers LEFT SEMI JOIN orders ON customers.id = orders.cust_id
SELECT c.id FROM customers c LEFT ANTI JOIN orders o ON c.id = o.cust_id
SELECT id FROM orders WHERE amount = (SELECT max(amount) FROM orders)
SELECT id, (SELECT count(*) FROM customers) AS n FROM orders
SELECT s.name, m.name AS manager FROM staff s LEFT JOIN staff m ON s.manager_id = m.id
SELECT coalesce(a.sku, b.sku) AS sku, a.qty, b.stock FROM orders a FULL OUTER JOIN products b ON a.sku = b.sku
SELECT a.dept, b.region FROM (SELECT DISTINCT dept FROM staff) a CROSS JOIN (SELECT DISTINCT region FROM orders) b
SELECT name FROM customers UNION ALL SELECT name FROM staff
SELECT name FROM customers UNION SELECT name FROM staff
SELECT name FROM customers INTERSECT SELECT name FROM staff
SELECT name FROM customers EXCEPT SELECT name FROM staff
SELECT name FROM customers MINUS SELECT name FROM staff
SELECT id, price FROM orders UNION ALL SELECT id, salary FROM staff
SELECT id, qty FROM orders UNION ALL SELECT id, rating FROM staff
SELECT 'c' AS src, count(*) AS n FROM customers UNION ALL SELECT 's' AS src, count(*) AS n FROM staff
WITH recent AS (SELECT * FROM orders WHERE order_date >= '2024-01-01') SELECT region, sum(amount) AS total FROM recent GROUP BY region
WITH a AS (SELECT cust_id, sum(amount) AS total FROM orders GROUP BY cust_id), b AS (SELECT * FROM a WHERE total > 10) SELECT c.name, b.total FROM b JOIN customers c ON c.id = b.cust_id
WITH ranked AS (SELECT id, cust_id, row_number() OVER (PARTITION BY cust_id ORDER BY id) AS rn FROM orders) SELECT id, cust_id FROM ranked WHERE rn = 1
SELECT id, row_number() OVER (PARTITION BY region ORDER BY amount DESC, id) AS rn FROM orders
SELECT id, rank() OVER (ORDER BY amount DESC) AS r FROM orders
SELECT id, dense_rank() OVER (PARTITION BY region ORDER BY qty) AS r FROM orders
SELECT id, row_number() OVER (PARTITION BY cust_id ORDER BY order_date DESC NULLS LAST, id) AS rn FROM orders
SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY id) AS running FROM orders
SELECT id, sum(amount) OVER (PARTITION BY region ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS win FROM orders
SELECT id, avg(qty) OVER (PARTITION BY region) AS mean FROM orders
SELECT id, count(*) OVER () AS n FROM orders
SELECT id, max(amount) OVER (PARTITION BY cust_id) - amount AS gap FROM orders
SELECT id, lag(amount, 1) OVER (ORDER BY id) AS prev, lead(amount, 1) OVER (ORDER BY id) AS nxt FROM orders
SELECT id, amount - lag(amount, 1, 0) OVER (PARTITION BY cust_id ORDER BY id) AS diff FROM orders
SELECT id, first_value(amount) OVER (PARTITION BY cust_id ORDER BY id) AS f FROM orders
SELECT id, ntile(3) OVER (ORDER BY id) AS t FROM orders
SELECT id, sum(qty) OVER w AS s, avg(qty) OVER w AS a FROM orders WINDOW w AS (PARTITION BY region)
SELECT id FROM orders QUALIFY row_number() OVER (PARTITION BY cust_id ORDER BY id) = 1
SELECT id, tag FROM orders LATERAL VIEW explode(tags) t AS tag
SELECT id, explode(tags) AS tag FROM orders
SELECT id, explode_outer(tags) AS tag FROM orders
SELECT id, pos, tag FROM orders LATERAL VIEW posexplode(tags) t AS pos, tag
SELECT id, k, v FROM orders LATERAL VIEW OUTER explode(attrs) t AS k, v
SELECT tag, count(*) AS n, sum(amount) AS total FROM orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag
SELECT user_id, i.sku, i.qty FROM events LATERAL VIEW explode(items) t AS i
SELECT user_id, inline(items) FROM events
SELECT id, tags[0] AS t0, size(tags) AS n FROM orders
SELECT id, element_at(tags, 1) AS t0 FROM orders WHERE size(tags) > 0
SELECT id, cardinality(tags) AS n FROM orders
SELECT id, array_contains(tags, 'new') AS is_new FROM orders
SELECT id, array_join(tags, ',') AS tags FROM orders
SELECT id, concat_ws(',', tags) AS tags FROM orders
SELECT id, sort_array(tags) AS tags FROM orders
SELECT id, array_distinct(tags) AS tags FROM orders
SELECT id, filter(tags, t -> t <> 'new') AS tags FROM orders
SELECT id, transform(tags, t -> upper(t)) AS tags FROM orders
SELECT id, exists(tags, t -> t = 'new') AS e FROM orders
SELECT id, attrs['color'] AS color FROM orders
SELECT id, map_keys(attrs) AS k, map_values(attrs) AS v FROM orders WHERE size(attrs) = 1
SELECT id, ship.city FROM orders WHERE ship.city IS NOT NULL
SELECT id, ship FROM orders
SELECT id, struct(region, qty) AS s FROM orders
SELECT id, named_struct('region', region, 'qty', qty) AS s FROM orders
SELECT id, array(region, sku) AS a FROM orders
SELECT id, map('r', region) AS m FROM orders
SELECT id, split(sku, '-')[0] AS f FROM orders
SELECT id, split(sku, '-', 2) AS parts FROM orders
SELECT id, split_part(sku, '-', 1) AS f FROM orders
SELECT id, regexp_extract(sku, '([A-Z]+)', 1) AS letters FROM orders
SELECT id, regexp_replace(sku, '[0-9]+', '#') AS masked FROM orders
SELECT id, instr(note, 'a') AS p, position('a' IN note) AS q FROM orders
SELECT id, lpad(sku, 8, '0') AS l, rpad(sku, 8, ' ') AS r FROM orders
SELECT id, lpad(id, 5, '0') AS l FROM orders
SELECT id, reverse(sku) AS r FROM orders
SELECT id, repeat('ab', 2) AS r, length(note) AS n FROM orders
SELECT id, md5(sku) AS m, sha2(sku, 256) AS s FROM orders
SELECT id, hash(sku) AS h FROM orders
SELECT id, xxhash64(sku) AS h FROM orders
SELECT id, crc32(sku) AS c FROM orders
SELECT id, greatest(qty, 1) AS g, least(qty, 10) AS l FROM orders
SELECT id, greatest(amount, 0) AS g FROM orders
SELECT id, nullif(qty, 0) AS q FROM orders
SELECT id, isnull(note) AS a, isnotnull(note) AS b FROM orders
SELECT id, nanvl(amount, 0) AS a FROM orders
SELECT id, isnan(amount) AS nan FROM orders
SELECT id, status FROM orders WHERE status = 'open'
SELECT id, code FROM orders WHERE code = 'A1'
SELECT id, code || 'x' AS c FROM orders
SELECT id, upper(status) AS s, length(status) AS n FROM orders
SELECT status, count(*) AS n FROM orders GROUP BY status
SELECT code, max(amount) AS m FROM orders GROUP BY code
SELECT region, avg(amount) AS a, min(amount) AS lo, max(amount) AS hi FROM orders GROUP BY region
SELECT region, sum(price) AS s, avg(price) AS a FROM orders GROUP BY region
SELECT region, sum(qty) AS q, avg(qty) AS a FROM orders GROUP BY region
SELECT region, stddev(amount) AS s, variance(amount) AS v FROM orders GROUP BY region
SELECT region, stddev_pop(qty) AS s FROM orders GROUP BY region
SELECT region, median(qty) AS m FROM orders GROUP BY region
SELECT region, percentile(qty, 0.5) AS m FROM orders GROUP BY region
SELECT region, percentile_approx(amount, 0.9) AS p FROM orders GROUP BY region
SELECT region, approx_count_distinct(sku) AS n FROM orders GROUP BY region
SELECT region, count(DISTINCT cust_id) AS n FROM orders GROUP BY region
SELECT region, collect_set(status) AS s FROM orders GROUP BY region
SELECT region, sort_array(collect_list(sku)) AS s FROM orders GROUP BY region
SELECT region, size(collect_set(sku)) AS n FROM orders GROUP BY region
SELECT region, max_by(sku, amount) AS top FROM orders GROUP BY region
SELECT region, any_value(region) AS r FROM orders GROUP BY region
SELECT region, first(region) AS r FROM orders GROUP BY region
SELECT region, bool_or(paid) AS any_paid, every(paid) AS all_paid FROM orders GROUP BY region
SELECT region, sum(CASE WHEN paid THEN amount END) AS paid_amount FROM orders GROUP BY region
SELECT region, sum(CASE WHEN paid THEN 1 ELSE 0 END) / count(*) AS rate FROM orders GROUP BY region
SELECT region, round(avg(amount), 2) AS a FROM orders GROUP BY region
SELECT region, status, sum(qty) AS q FROM orders GROUP BY ROLLUP (region, status)
SELECT region, status, sum(qty) AS q FROM orders GROUP BY CUBE (region, status)
SELECT region, status, sum(qty) AS q FROM orders GROUP BY GROUPING SETS ((region), (status))
SELECT region, status, grouping(region) AS g, count(*) AS n FROM orders GROUP BY region, status WITH ROLLUP
SELECT region, sum(qty) AS q FROM orders GROUP BY region HAVING sum(qty) > 5
SELECT region AS r, count(*) AS n FROM orders GROUP BY r
SELECT region, count(*) AS n FROM orders GROUP BY 1 ORDER BY 2 DESC
SELECT region, sum(amount) AS total FROM orders GROUP BY region ORDER BY total DESC
SELECT region, sum(amount) AS total FROM orders GROUP BY region ORDER BY total DESC LIMIT 2
SELECT id, note FROM orders ORDER BY note, id LIMIT 4
SELECT id FROM orders ORDER BY id LIMIT 3
SELECT id FROM orders ORDER BY id DESC LIMIT 3 OFFSET 1
SELECT DISTINCT region, status FROM orders
SELECT count(*) AS n, count(note) AS notes, count(DISTINCT region) AS regions FROM orders
SELECT min(order_date) AS a, max(order_date) AS b FROM orders
SELECT max(created_at) AS latest FROM orders
SELECT count(*) AS n FROM orders WHERE paid
SELECT * FROM orders
SELECT * EXCEPT (tags, attrs, ship) FROM orders
SELECT name, credit, credit * 2 AS twice FROM customers
SELECT name, credit / 3 AS third FROM customers
SELECT name, CAST(credit AS int) AS credit FROM customers
SELECT name, CAST(credit AS decimal(10,1)) AS credit FROM customers
SELECT name, coalesce(tier, 'basic') AS tier FROM customers
SELECT name, decode(tier, 'gold', 1, 'silver', 2, 3) AS level FROM customers
SELECT name, CASE tier WHEN 'gold' THEN 'A' WHEN 'silver' THEN 'B' END AS class FROM customers
SELECT name, split(email, '@')[1] AS domain FROM customers
SELECT name, substring_index(email, '@', -1) AS domain FROM customers
SELECT name, locate('@', email) AS p FROM customers
SELECT name, lower(email) AS email FROM customers WHERE email LIKE '%@%.com'
SELECT name, joined, current_date() > joined AS past FROM customers
SELECT name, year(joined) AS y, date_format(joined, 'MMMM') AS m FROM customers
SELECT name, date_format(joined, 'EEEE') AS d FROM customers
SELECT name, floor(months_between(DATE '2024-12-31', joined) / 12) AS years FROM customers
SELECT name, datediff(DATE '2024-12-31', joined) AS days FROM customers
SELECT name, date_diff(DATE '2024-12-31', joined) AS days FROM customers
SELECT name, birth, to_date(birth) AS b FROM customers WHERE birth LIKE '____-__-__'
SELECT name, try_to_date(birth) AS b FROM customers
SELECT name, length(birth) AS n, birth = '1990-01-01' AS e FROM customers
SELECT country, tier, count(*) AS n FROM customers GROUP BY country, tier
SELECT country, sum(credit) AS credit FROM customers GROUP BY country
SELECT country, avg(credit) AS credit FROM customers GROUP BY country
SELECT country, max(joined) AS newest FROM customers GROUP BY country
SELECT country, string_agg(name, ',') AS names FROM customers WHERE id = 1 GROUP BY country
SELECT country, count(*) * 100.0 / sum(count(*)) OVER () AS pct FROM customers GROUP BY country
SELECT dept, max(salary) AS top, avg(salary) AS mean FROM staff GROUP BY dept
SELECT dept, sum(salary) * 12 AS yearly FROM staff GROUP BY dept
SELECT name, salary, salary > avg(salary) OVER (PARTITION BY dept) AS above FROM staff
SELECT name, salary, rank() OVER (PARTITION BY dept ORDER BY salary DESC) AS pos FROM staff
SELECT name, salary, percent_rank() OVER (PARTITION BY dept ORDER BY id) AS pr FROM staff
SELECT name, salary * 1.05 AS next FROM staff
SELECT name, salary / 12 AS monthly, round(salary / 12, 2) AS rounded FROM staff
SELECT name, hired, hired < '2020-01-01' AS senior FROM staff
SELECT name, rating, rating > 3.5 AS good FROM staff
SELECT name, rating, round(rating, 1) AS r FROM staff
SELECT name, coalesce(CAST(manager_id AS string), 'top') AS boss FROM staff
SELECT sku, title, list_price FROM products WHERE active AND list_price > 10
SELECT sku, list_price * stock AS worth FROM products
SELECT sku, list_price - 0.01 AS p FROM products
SELECT sku, list_price * 0.9 AS sale FROM products
SELECT sku, weight * 1000 AS grams FROM products
SELECT sku, CAST(weight * 1000 AS int) AS grams FROM products WHERE weight < 1000
SELECT category, sum(stock) AS s, sum(list_price * stock) AS worth FROM products GROUP BY category
SELECT category, count(*) AS n FROM products WHERE title IS NOT NULL GROUP BY category ORDER BY n DESC
SELECT p.category, sum(o.amount) AS revenue, count(DISTINCT o.cust_id) AS buyers FROM orders o JOIN products p ON o.sku = p.sku GROUP BY p.category
SELECT p.category, year(o.order_date) AS y, sum(o.qty * p.list_price) AS revenue FROM orders o JOIN products p ON o.sku = p.sku GROUP BY p.category, year(o.order_date)
SELECT c.country, month(o.order_date) AS m, sum(o.amount) AS total FROM orders o JOIN customers c ON c.id = o.cust_id WHERE o.paid GROUP BY c.country, month(o.order_date)
SELECT kind, count(*) AS n, avg(score) AS s FROM events GROUP BY kind
SELECT user_id, ts, lag(ts) OVER (PARTITION BY user_id ORDER BY ts, kind) AS prev FROM events
SELECT user_id, unix_timestamp(ts) - unix_timestamp(lag(ts) OVER (PARTITION BY user_id ORDER BY ts, kind)) AS gap FROM events
SELECT user_id, date_trunc('day', ts) AS d, count(*) AS n FROM events GROUP BY user_id, date_trunc('day', ts)
SELECT user_id, props['depth'] AS depth FROM events WHERE props['depth'] > 1
SELECT day, count(DISTINCT user_id) AS dau FROM events GROUP BY day
SELECT * FROM (SELECT region, status, qty FROM orders) PIVOT (sum(qty) FOR status IN ('open', 'closed'))
SELECT user_id, k, v FROM events LATERAL VIEW explode(props) AS k, v
SELECT user_id, try_divide(score, 0) AS d FROM events
SELECT user_id, power(score, 2) AS p, sqrt(abs(score)) AS s FROM events
SELECT user_id, least(score, 1.0) AS s FROM events
SELECT id, sum(qty) OVER (PARTITION BY cust_id ORDER BY order_date, id ROWS UNBOUNDED PRECEDING) AS q FROM orders
SELECT id, discount, discount * 2 AS d FROM orders
SELECT id, CAST(discount AS decimal(5,2)) AS d FROM orders WHERE discount < 1
SELECT id FROM orders WHERE discount = 0.1
SELECT id, units, units * 2 AS u FROM orders WHERE units < 100000
SELECT sum(units) AS u, avg(units) AS a FROM orders WHERE units < 100000
SELECT id, bigint(qty) + units AS t FROM orders WHERE units < 100000
SELECT region, mode(status) AS m FROM orders GROUP BY region
SELECT id, to_timestamp('2024-01-01 10:00:00') AS t FROM orders
SELECT id, get_json_object(note, '$.a') AS a FROM orders
SELECT id, typeof(qty) AS t FROM orders
SELECT /*+ BROADCAST(c) */ o.id, c.name FROM orders o JOIN customers c ON o.cust_id = c.id
